//! `laxity completions` and `laxity man`: what a shell and `man` show, made from the arguments.

use clap::{Command, CommandFactory};
use clap_mangen::Man;

use crate::Exit;
use crate::arguments::{self, Arguments};
use crate::terminal::Terminal;

pub(crate) fn completions(arguments: &arguments::Completions, terminal: &mut Terminal) -> Exit {
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut Arguments::command(), "laxity", &mut script);
    terminal.print(&String::from_utf8_lossy(&script));
    Exit::Holds
}

pub(crate) fn man(arguments: &arguments::Man, terminal: &mut Terminal) -> Exit {
    let root = built();
    let mut command = &root;
    // `laxity man adapter show` and `laxity man "adapter show"`.
    for word in arguments.command.iter().flat_map(|words| words.split(' ')) {
        let Some(found) = command.find_subcommand(word) else {
            let known = shown(command).map(Command::get_name).collect::<Vec<_>>().join(", ");
            terminal.error(&format!("there is no command `{word}`; valid is one of {known}"));
            return Exit::BadInput;
        };
        command = found;
    }
    terminal.print(&page(command).1);
    Exit::Holds
}

/// The pages of all commands, each after a line `FILE name`.
pub(crate) fn man_pages() -> String {
    fn add(command: &Command, pages: &mut String) {
        let (name, text) = page(command);
        *pages += &format!("FILE {name}\n{text}");
        shown(command).for_each(|held| add(held, pages));
    }
    let mut pages = String::new();
    add(&built(), &mut pages);
    pages
}

fn built() -> Command {
    let mut root = Arguments::command();
    root.build();
    root
}

fn shown(command: &Command) -> impl Iterator<Item = &Command> {
    command.get_subcommands().filter(|held| !held.is_hide_set() && held.get_name() != "help")
}

/// The name of a command's page, and its text.
fn page(command: &Command) -> (String, String) {
    let man = Man::new(command.clone());
    let mut text = Vec::new();
    man.render(&mut text).expect("memory takes bytes");
    (man.get_filename(), String::from_utf8_lossy(&text).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_has_a_page() {
        let pages = man_pages();
        for name in ["laxity.1", "laxity-run.1", "laxity-adapter-show.1", "laxity-diff.1"] {
            assert!(pages.contains(&format!("FILE {name}\n")), "{name}");
        }
        assert!(!pages.contains("laxity-reference.1"));
    }
}
