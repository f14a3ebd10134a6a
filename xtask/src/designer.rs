//! The designer: its WebAssembly module, and its page in a real browser.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use crate::step::{self, Report, cargo, target};

/// The target of WebAssembly.
pub(crate) const TARGET: &str = "wasm32-unknown-unknown";
/// The library that drives the browser.
const DRIVER: &str = "puppeteer-core@24.43.1";
/// Names under which systems have the browser.
const BROWSERS: [&str; 4] = ["chromium", "chromium-browser", "google-chrome", "chrome"];
/// The largest module that a reader of the page should load, compressed, bytes.
const MOST: u64 = 2_000_000;

/// Builds the module as a page needs it, and a `laxity` with the module in it.
pub(crate) fn build(root: &Path) -> Result<PathBuf, String> {
    let module = module(root)?;
    println!("{}: {}", module.display(), size(&module)?);
    let mut program = cargo(root, &["build", "--profile", "dist", "--package", "laxity"]);
    program.env("LAXITY_MODULE", packed(&module)?);
    step::run(program)?;
    let built = target(root).join("dist/laxity");
    println!("{}: `laxity designer` with the module in it", built.display());
    Ok(built)
}

/// The module as a page loads it, without symbols and line tables.
pub(crate) fn module(root: &Path) -> Result<PathBuf, String> {
    let build =
        ["build", "--quiet", "--profile", "module", "--package", "laxity-browser", "--target", TARGET];
    step::run(cargo(root, &build))?;
    let built = target(root).join(TARGET).join("module/laxity_browser.wasm");
    let stripped = target(root).join("designer/laxity.wasm");
    let wrong = |error: std::io::Error| format!("{}: {error}", stripped.display());
    std::fs::create_dir_all(target(root).join("designer")).map_err(wrong)?;
    let bytes = std::fs::read(&built).map_err(|error| format!("{}: {error}", built.display()))?;
    let bytes = strip(&bytes).ok_or_else(|| format!("{} is no module", built.display()))?;
    std::fs::write(&stripped, bytes).map_err(wrong)?;
    Ok(stripped)
}

/// The module compressed by gzip, as the program has it.
fn packed(module: &Path) -> Result<PathBuf, String> {
    let mut pack = Command::new("gzip");
    pack.args(["--best", "--no-name", "--keep", "--force"]).arg(module);
    step::run(pack)?;
    Ok(module.with_extension("wasm.gz"))
}

/// A WebAssembly module without its custom sections, which have names and line tables; `None` if
/// `bytes` is no module.
///
/// A module is a head of eight bytes and sections: a number, the length in LEB128, the contents.
/// Custom sections have the number 0.
fn strip(bytes: &[u8]) -> Option<Vec<u8>> {
    let (head, mut rest) = bytes.split_at_checked(8)?;
    let mut kept = head.strip_prefix(b"\0asm").map(|_| head.to_vec())?;
    while let Some(&number) = rest.first() {
        let (mut length, mut at) = (0_usize, 1);
        loop {
            let byte = *rest.get(at)?;
            length |= usize::from(byte & 0x7f).checked_shl(7 * (at as u32 - 1))?;
            at += 1;
            if byte & 0x80 == 0 {
                break;
            }
        }
        let (section, behind) = rest.split_at_checked(at.checked_add(length)?)?;
        if number != 0 {
            kept.extend(section);
        }
        rest = behind;
    }
    Some(kept)
}

/// The size of `module`, and its size as web servers send it (Brotli), in words; without node the
/// latter is not known.
fn size(module: &Path) -> Result<String, String> {
    const PACK: &str = "const { brotliCompressSync } = require('zlib');\
                        const bytes = require('fs').readFileSync(process.argv[1]);\
                        console.log(brotliCompressSync(bytes, { params: { 1: 9, 2: 24 } }).length)";
    let whole = std::fs::metadata(module).map_err(|error| error.to_string())?.len();
    let mut node = Command::new("node");
    node.args(["-e", PACK]).arg(module);
    let packed =
        step::printed(node).ok().and_then(|text| String::from_utf8_lossy(&text).trim().parse::<u64>().ok());
    match packed {
        None => Ok(format!("{whole} B")),
        Some(packed) if packed <= MOST => Ok(format!("{whole} B, compressed {packed} B of {MOST} B")),
        Some(packed) => Err(format!("the module has {packed} B compressed, more than {MOST} B")),
    }
}

/// Tests the page in a browser, where node, npm and the browser are here or can be had.
pub(crate) fn check(root: &Path, report: &mut Report) {
    let browser = BROWSERS.into_iter().find_map(found);
    let Some((browser, node)) = browser.zip(found("node")) else {
        println!("== passed over: a browser (`chromium`) or node is not here");
        return;
    };
    let place = target(root).join("designer");
    if let Err(reason) = driver(&place) {
        println!("== passed over: {DRIVER} is not here and could not be had: {reason}");
        return;
    }
    report.check("the size of the designer's module", || {
        println!("{}", size(&module(root)?)?);
        Ok(())
    });
    report.check("the designer in a browser", || page(root, &place, (&browser, &node), &[]));
}

/// Runs the tests of the page, with further `options`.
fn page(root: &Path, place: &Path, (browser, node): (&Path, &Path), options: &[&str]) -> Result<(), String> {
    let module = module(root)?;
    let mut program = step::built(root, "laxity");
    program.args(["designer", "--port", "0", "--module"]).arg(&module);
    let server = Server::start(program)?;
    let mut test = Command::new(node);
    test.current_dir(root).env("NODE_PATH", place.join("node_modules"));
    test.arg("crates/browser/test/page.mjs").arg(&server.address).arg(browser);
    test.arg(place.join("screens")).arg("crates/browser/test/screens").args(options);
    step::run(test)
}

/// Makes the screenshots that tests expect.
pub(crate) fn screens(root: &Path) -> Result<(), String> {
    let browser = BROWSERS.into_iter().find_map(found).ok_or("a browser (`chromium`) is not here")?;
    let node = found("node").ok_or("node is not here")?;
    let place = target(root).join("designer");
    driver(&place)?;
    step::run(cargo(root, &["build", "--package", "laxity"]))?;
    page(root, &place, (&browser, &node), &["--write"])
}

/// A running `laxity designer`.
struct Server {
    child: Child,
    address: String,
}

impl Server {
    fn start(mut program: Command) -> Result<Self, String> {
        let mut child =
            program.stdout(Stdio::piped()).spawn().map_err(|error| format!("{program:?}: {error}"))?;
        let output = child.stdout.take().expect("the output is piped");
        let mut line = String::new();
        let read = BufReader::new(output).read_line(&mut line);
        let address = line.split_whitespace().find(|word| word.starts_with("http://")).map(String::from);
        match (read, address) {
            (Ok(_), Some(address)) => Ok(Self { child, address: format!("{address}/") }),
            _ => {
                let _ = child.kill();
                let _ = child.wait();
                Err(format!("{program:?} printed no address: {line}"))
            }
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Installs the browser's driver at `place` if it is not there.
fn driver(place: &Path) -> Result<(), String> {
    if place.join("node_modules/puppeteer-core/package.json").exists() {
        return Ok(());
    }
    std::fs::create_dir_all(place).map_err(|error| error.to_string())?;
    let mut install = Command::new("npm");
    install.args(["install", "--silent", "--no-save", "--no-audit", "--no-fund", "--prefix"]).arg(place);
    install.arg(DRIVER);
    step::printed(install).map(drop)
}

/// Where the program called `name` is.
fn found(name: &str) -> Option<PathBuf> {
    let paths = std::env::var_os("PATH")?;
    std::env::split_paths(&paths).map(|folder| folder.join(name)).find(|path| path.is_file())
}

#[cfg(test)]
mod tests {
    use super::strip;

    #[test]
    fn custom_sections_are_left_out() {
        let head = b"\0asm\x01\0\0\0";
        let long = [&[0, 0x81, 0x01][..], &[7; 129]].concat();
        let module = [&head[..], &[1, 2, 9, 9], &long, &[3, 1, 5]].concat();
        assert_eq!(strip(&module).unwrap(), [&head[..], &[1, 2, 9, 9, 3, 1, 5]].concat());
        assert!(strip(b"nonsense").is_none() && strip(&module[..20]).is_none());
    }
}
