//! What is asked of every packet though few hosts and adapters have it.
//!
//! A packet's way is some thousands of instructions, nearly all of which it executes once. So it is short in time only if it lies close together: a processor
//! has 32 KB for instructions at hand, and what is skipped takes room there as well as what is done. A compiler cannot know which way is
//! gone; where it matters it is told here, and puts the other out of the way.

/// `asked`, which is mostly not so.
#[inline(always)]
pub fn seldom(asked: bool) -> bool {
    if asked {
        out_of_the_way();
    }
    asked
}

/// `asked`, which is mostly so.
#[inline(always)]
pub fn mostly(asked: bool) -> bool {
    if !asked {
        out_of_the_way();
    }
    asked
}

/// Whatever calls this is on a way that is seldom gone.
#[cold]
#[inline(always)]
fn out_of_the_way() {}
