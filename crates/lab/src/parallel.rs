//! Work on all cores, results in order.

use std::num::NonZero;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;

/// Applies `work` to 0 … `items` on up to `threads` threads (one per core if `None`) and returns
/// the results in that order. `done` sees each result on the calling thread as soon as it is ready.
/// An error stops the remaining work; of several errors, the first in the order of the items is
/// returned.
pub(crate) fn ordered<T: Send, E: Send>(
    items: usize,
    threads: Option<NonZero<usize>>,
    work: &(dyn Fn(usize) -> Result<T, E> + Sync),
    done: &mut dyn FnMut(&T),
) -> Result<Vec<T>, E> {
    let cores = || thread::available_parallelism().map_or(1, NonZero::get);
    let threads = threads.map_or_else(cores, NonZero::get).min(items);
    if threads <= 1 {
        return (0..items).map(|item| work(item).inspect(|result| done(result))).collect();
    }
    let mut results: Vec<Option<Result<T, E>>> = (0..items).map(|_| None).collect();
    let (next, stop) = (&AtomicUsize::new(0), &AtomicBool::new(false));
    thread::scope(|scope| {
        let (sender, receiver) = mpsc::channel();
        for _ in 0..threads {
            let sender = sender.clone();
            scope.spawn(move || {
                while !stop.load(Ordering::Relaxed) {
                    let item = next.fetch_add(1, Ordering::Relaxed);
                    if item >= items {
                        return;
                    }
                    let result = work(item);
                    // Set here and not by the receiving thread, which may not get a core for a
                    // while.
                    if result.is_err() {
                        stop.store(true, Ordering::Relaxed);
                    }
                    if sender.send((item, result)).is_err() {
                        return;
                    }
                }
            });
        }
        drop(sender);
        for (item, result) in receiver {
            if let Ok(result) = &result {
                done(result);
            }
            results[item] = Some(result);
        }
    });
    // Threads take items in order, so the items that were not taken follow an error.
    results.into_iter().flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn squares(threads: usize) -> (Result<Vec<usize>, String>, usize) {
        let mut seen = 0;
        let result = ordered(100, NonZero::new(threads), &|i| Ok(i * i), &mut |_| seen += 1);
        (result, seen)
    }

    #[test]
    fn results_come_in_order_whoever_finishes_first() {
        let expected: Vec<usize> = (0..100).map(|i| i * i).collect();
        for threads in [1, 2, 7] {
            assert_eq!(squares(threads), (Ok(expected.clone()), 100));
        }
        assert_eq!(ordered::<(), ()>(0, None, &|_| Ok(()), &mut |()| ()), Ok(vec![]));
    }

    #[test]
    #[allow(clippy::disallowed_methods, reason = "threads race here, and no component is asked")]
    fn an_error_stops_the_rest() {
        for threads in [1, 4] {
            let met = AtomicUsize::new(0);
            let work = |i: usize| {
                met.fetch_add(1, Ordering::Relaxed);
                if i > 3 {
                    // Otherwise the others might finish before the thread with the error gets a
                    // core.
                    thread::sleep(std::time::Duration::from_micros(10));
                }
                if i == 3 { Err(i) } else { Ok(()) }
            };
            assert_eq!(ordered(100_000, NonZero::new(threads), &work, &mut |()| ()), Err(3));
            assert!(met.into_inner() < 100_000);
        }
    }
}
