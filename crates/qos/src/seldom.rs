//! Branch hints for features that few hosts and adapters have but every packet tests.
//!
//! A packet's path is some thousands of instructions, most of them executed once. Its speed depends
//! on a compact layout: a processor has 32 KB of instruction cache, and skipped code occupies it
//! too. The hints move the cold path out of the hot code, because a compiler cannot know which path
//! is cold.

/// Returns `asked`, which is usually false.
#[inline(always)]
pub fn seldom(asked: bool) -> bool {
    if asked {
        out_of_the_way();
    }
    asked
}

/// Returns `asked`, which is usually true.
#[inline(always)]
pub fn mostly(asked: bool) -> bool {
    if !asked {
        out_of_the_way();
    }
    asked
}

/// Marks its caller as a cold path.
#[cold]
#[inline(always)]
fn out_of_the_way() {}
