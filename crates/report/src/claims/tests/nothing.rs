//! Empty lists: a test of an empty list has no answer; that a list has become empty is an answer.

use super::*;

#[test]
fn whatever_tests_an_empty_list_has_no_answer() {
    for script in [
        "[].all(|x| true)",
        "[].filter(|x| x > 0).len() == 0",
        "runs.filter(|r| r.window > 9).filter(|r| r.rt[0].missed_packets > 0).len() == 0",
        "runs.filter(|r| r.window > 9).filter(|r| r.rt[0].missed_packets > 0).is_empty()",
        "runs.filter(|r| r.window > 9).map(|r| r.window).filter(|x| x > 0).len() == 0",
        "[].find(|x| x > 0) == ()",
        "[].find(|x| x > 0, 0) == ()",
        "[].find_map(|x| x) == ()",
        "[].index_of(|x| x > 0) == -1",
        "[].index_of(3) < 0",
        "[].index_of(3, 1) < 0",
        "![].contains(true)",
        "!(true in runs.filter(|r| r.window > 9).map(|r| r.window > 10))",
        "[].reduce(|sum, x| sum + x, 0) == 0",
        "[].reduce_rev(|sum, x| sum + x, 0) == 0",
        "let xs = []; xs.drain(|x| x > 0).len() == 0",
        "let xs = []; xs.retain(|x| x > 0); xs.len() == 0",
        "let late = 0; [].for_each(|x| late += 1); late == 0",
        "let xs = []; xs.pop() == ()",
        "let xs = []; xs.shift() == ()",
        "[] == []",
        "!(runs.filter(|r| r.window > 9) != [])",
        "for x in [] { return false; } true",
        "let late = 0; for x in [] { late += 1; } late == 0",
        "let late = 0; for (x, i) in [] { late += 1; } late == 0",
        "for r in runs { for c in r.computations { return false; } } true",
        "let xs = runs.filter(|r| r.window > 9); for i in 0..xs.len() { return false; } true",
        "let xs = []; for i in 0..xs.len() - 1 { return false; } true",
        "let xs = []; for i in 0..=xs.len() - 1 { return false; } true",
        "let xs = [1]; for i in 1..xs.len() { return false; } true",
    ] {
        unjudged(script, "nothing");
    }
}

#[test]
fn that_nothing_is_left_of_something_is_an_answer() {
    holds("runs.filter(|r| r.window > 9).len() == 0 && runs.filter(|r| r.window > 9).is_empty()");
    holds("runs.find(|r| r.window > 9) == () && runs.find(|r| r.window < 9).window < 1");
    holds("runs.map(|r| r.window).index_of(7.0) == -1 && ![1, 2].contains(3) && 2 in [1, 2.0]");
    holds("let xs = [1, 2]; xs.drain(|x| x > 5).len() == 0 && xs.len() == 2");
    holds("let some = runs.filter(|r| r.window > 9); some.len() == 0 || some.all(|r| false)");
    fails("runs.filter(|r| r.window < 9).filter(|r| r.rt[0].throughput == 500).len() == 0");
    holds("let n = 0; for i in 0..4 { for j in i + 1..4 { n += 1; } } n == 6");
}

#[test]
fn functions_over_lists_take_what_the_language_has_them_take() {
    holds("[5, 6, 7].filter(|x, i| x * i > 6) == [7]");
    holds("[5, 6, 7].filter(|| this > 6) == [7] && [5, 6].all(|x, i| x == 5 + i)");
    holds("[5, 6, 5].index_of(5, 1) == 2 && [5, 6, 5].index_of(|x| x == 5, 1) == 2");
    holds("[5, 6, 5].find(|x| x < 6, -1) == 5 && [5, 6].find(|x| x < 6, 1) == ()");
    holds(
        "[1, 2, 3].reduce(|sum, x, i| sum + x * i, 0) == 8 && [1, 2].reduce_rev(|all, x| all + x, \"\") == \"21\"",
    );
    holds("[1, 2].reduce(|sum, x| if sum == () { x } else { sum + x }) == 3");
    holds(
        "let xs = [1, 2, 3]; xs.retain(|x| x > 1) == [1] && xs == [2, 3] && xs.drain(|x| x > 2) == [3] && xs == [2]",
    );
    holds("let xs = [1, 2]; xs.for_each(|| this *= 2); xs == [2, 4]");
    holds("[1, [2, 3], \"x\"] == [1.0, [2, 3], \"x\"] && [1, \"x\"] != [1, 2] && [1] != []");
    holds("let xs = [1, 2]; xs.pop() == 2 && xs.shift() == 1");
    holds("[1, 2].find_map(|x| if x > 1 { x * 2 } else { () }) == 4");
    holds("let n = 0; for (x, i) in [5, 6] { n += x * i; } for i in 1..=2 { n += i; } n == 9");
}

#[test]
fn a_test_answers_true_or_false() {
    // In the language, every value that is not a boolean was false, and the filter found no
    // element.
    unjudged("runs[0].be.filter(|c| c.deadline).len() == 0", "best_effort");
    refused("runs.filter(|r| r.window).len() == 0", "true or false");
    refused("runs.find(|r| r.label) == ()", "true or false");
    refused("runs.all(|r| 1)", "true or false");
}
