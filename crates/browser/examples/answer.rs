//! Answers requests natively, one in each line of standard input: `cargo run -p laxity-browser
//! --example answer`.

use std::io::{self, BufRead, Write};

fn main() -> io::Result<()> {
    let mut out = io::stdout().lock();
    for line in io::stdin().lock().lines() {
        out.write_all(&laxity_browser::answer(line?.as_bytes()))?;
        out.write_all(b"\n")?;
        out.flush()?;
    }
    Ok(())
}
