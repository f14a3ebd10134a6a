//! Which processor an emulation has for itself.
//!
//! A thread that spins on a processor that another one spins on is away from the counter half of the time, in stretches of
//! milliseconds. Two runs do not know of each other, and both would take the last processor. So each takes a lock for the
//! one that it takes, `/run/laxity/core-3.lock`, which the kernel lets go of however the run ends.

use std::fs::{File, OpenOptions};
use std::path::Path;

use nix::fcntl::{Flock, FlockArg};

use crate::ownership;
use crate::place::cores;

/// A processor that this run has taken, until it is dropped.
#[derive(Debug)]
pub struct CoreClaim {
    /// Its number.
    pub core: Option<usize>,
    /// Whether another run has taken it, too.
    pub is_shared: bool,
    _lock: Option<Flock<File>>,
}

/// Takes processor `wanted`, or else the last one that no other run has taken.
///
/// One that is taken is shared. Where no lock can be had, for want of a directory for it, nobody is known to share.
pub fn claim_core(wanted: Option<usize>) -> CoreClaim {
    let candidates = wanted.map_or_else(cores, |core| vec![core]);
    let Ok(directory) = ownership::directory() else {
        return CoreClaim { core: candidates.last().copied(), is_shared: false, _lock: None };
    };
    claim(&directory, &candidates)
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
        fs::remove_dir_all(directory).unwrap();
    }
}
