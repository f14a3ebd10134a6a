//! Prints the digest of a scenario's first point: `cargo run -p laxity-browser --example digest FILE`.

use std::process::ExitCode;

fn main() -> ExitCode {
    let Some(file) = std::env::args().nth(1) else {
        eprintln!("usage: digest FILE");
        return ExitCode::from(2);
    };
    match std::fs::read(&file)
        .map_err(|error| error.to_string())
        .and_then(|text| laxity_browser::digest(&text))
    {
        Ok(digest) => {
            println!("{digest:016x}");
            ExitCode::SUCCESS
        }
        Err(reason) => {
            eprintln!("error: {file}: {reason}");
            ExitCode::FAILURE
        }
    }
}
