//! Processor that an emulation reserves for itself.
//!
//! Two spinning threads on one processor each lose it half of the time, for milliseconds at a time.
//! Independent runs would all choose the last processor. Each run therefore locks a file for its
//! processor, `/run/laxity/core-3.lock`; the kernel releases the lock however the run ends.

use std::fs::{File, OpenOptions};
use std::path::Path;

use nix::fcntl::{Flock, FlockArg};

use crate::ownership;
use crate::place::cores;

/// Processor claimed by this run, until it is dropped.
#[derive(Debug)]
pub struct CoreClaim {
    /// Its number.
    pub core: Option<usize>,
    /// Whether another run has claimed it, too.
    pub is_shared: bool,
    _lock: Option<Flock<File>>,
}

impl CoreClaim {
    /// Claim on a machine without a directory for locks.
    fn unlocked(core: Option<usize>) -> Self {
        Self { core, is_shared: false, _lock: None }
    }

    /// Warning that another run uses the same processor; `None` if none is known to.
    pub fn warning(&self) -> Option<String> {
        let core = self.core.filter(|_| self.is_shared)?;
        Some(format!(
            "processor {core} is taken by another run in real time, and shared with it; both will stand still for \
             milliseconds at a time"
        ))
    }
}

/// Claims processor `wanted`, or else the last one that no other run has claimed.
///
/// A claimed processor is shared. Without a directory for locks, sharing is not detected.
pub fn claim_core(wanted: Option<usize>) -> CoreClaim {
    let candidates = wanted.map_or_else(cores, |core| vec![core]);
    let Ok(directory) = ownership::directory() else {
        return CoreClaim::unlocked(candidates.last().copied());
    };
    claim(&directory, &candidates)
}

/// Claims a processor for an emulation and another one for its host in a thread: the given ones, or
/// else the last and the first that no other run has claimed.
pub fn claim_two_cores(emulation: Option<usize>, host: Option<usize>) -> (CoreClaim, CoreClaim) {
    match ownership::directory() {
        Ok(directory) => two(&directory, &cores(), emulation, host),
        Err(_) => {
            let (last, first) = (cores().last().copied(), cores().first().copied());
            (CoreClaim::unlocked(emulation.or(last)), CoreClaim::unlocked(host.or(first)))
        }
    }
}

fn two(
    directory: &Path,
    cores: &[usize],
    emulation: Option<usize>,
    host: Option<usize>,
) -> (CoreClaim, CoreClaim) {
    let but = |other: Option<usize>| cores.iter().copied().filter(move |core| Some(*core) != other);
    // The host takes the first free processor, so its candidates are in reverse order.
    let for_host = host.map_or_else(|| but(emulation).rev().collect(), |core| vec![core]);
    let host = claim(directory, &for_host);
    let for_emulation = emulation.map_or_else(|| but(host.core).collect(), |core| vec![core]);
    (claim(directory, &for_emulation), host)
}

fn claim(directory: &Path, candidates: &[usize]) -> CoreClaim {
    for &core in candidates.iter().rev() {
        let path = directory.join(format!("core-{core}.lock"));
        let Ok(file) = OpenOptions::new().create(true).append(true).open(path) else { continue };
        if let Ok(lock) = Flock::lock(file, FlockArg::LockExclusiveNonblock) {
            return CoreClaim { core: Some(core), is_shared: false, _lock: Some(lock) };
        }
    }
    CoreClaim { core: candidates.last().copied(), is_shared: true, _lock: None }
}

#[cfg(test)]
mod tests {
    use std::{env, fs, process};

    use super::*;

    #[test]
    fn an_emulation_and_its_host_never_take_the_same_processor_by_themselves() {
        let directory = env::temp_dir().join(format!("laxity-core-pairs-{}", process::id()));
        fs::create_dir_all(&directory).unwrap();
        let (emulation, host) = two(&directory, &[0, 1, 2], None, None);
        assert_eq!((emulation.core, host.core), (Some(2), Some(0)));
        assert!(!emulation.is_shared && !host.is_shared);
        // One processor is free: the host takes it, and the emulation shares another one.
        let (second, its_host) = two(&directory, &[0, 1, 2], None, None);
        assert_eq!((second.core, its_host.core), (Some(2), Some(1)));
        assert!(second.is_shared && !its_host.is_shared);
        drop((emulation, host, second, its_host));
        let (wanted, other) = two(&directory, &[0, 1], Some(0), None);
        assert_eq!((wanted.core, other.core), (Some(0), Some(1)));
        drop((wanted, other));
        // A machine with one processor has none for the emulation, and reports it.
        let (none, only) = two(&directory, &[4], None, None);
        assert_eq!((none.core, only.core), (None, Some(4)));
        fs::remove_dir_all(directory).unwrap();
    }

    #[test]
    fn runs_take_different_processors_while_there_are_some() {
        let directory = env::temp_dir().join(format!("laxity-cores-{}", process::id()));
        fs::create_dir_all(&directory).unwrap();
        let take = || claim(&directory, &[2, 5]);
        let (first, second, third) = (take(), take(), take());
        assert_eq!((first.core, first.is_shared), (Some(5), false));
        assert_eq!((second.core, second.is_shared), (Some(2), false));
        assert_eq!((third.core, third.is_shared), (Some(5), true));
        drop(first);
        let again = take();
        assert_eq!((again.core, again.is_shared), (Some(5), false), "what is dropped is free again");
        assert_eq!(again.warning(), None);
        assert!(
            third.warning().is_some_and(|warning| warning.starts_with("processor 5 is taken by another run"))
        );
        fs::remove_dir_all(directory).unwrap();
    }
}
