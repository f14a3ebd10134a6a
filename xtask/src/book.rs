//! The book: the pages of docs, built by mdBook, with every link of the built pages checked.
//!
//! Pages link to files of the repository beside docs. These files are put beside the built book, so
//! that the folder `target/book` can be hosted as it is.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Component, Path, PathBuf};
use std::process::Command;

use crate::step::{self, target};

/// Whether mdBook is here.
pub(crate) fn can_build() -> bool {
    Command::new("mdbook").arg("--version").output().is_ok_and(|output| output.status.success())
}

/// Builds the book into `target/book` and returns the page to open first.
pub(crate) fn build(root: &Path) -> Result<PathBuf, String> {
    let site = target(root).join("book");
    let mut build = Command::new("mdbook");
    build.arg("build").arg(root.join("book")).arg("--dest-dir").arg(site.join("docs"));
    step::run(build)?;
    let mut pages = Vec::new();
    find(&site.join("docs"), &mut pages).map_err(|error| format!("{}: {error}", site.display()))?;
    let mut wrong = BTreeSet::new();
    for page in &pages {
        let text = fs::read_to_string(page).map_err(|error| format!("{}: {error}", page.display()))?;
        let beside = page.parent().expect("a page is in a folder");
        for link in links(&text) {
            let (file, anchor) = link.split_once('#').unwrap_or((link, ""));
            let target = if file.is_empty() { page.clone() } else { plain(&beside.join(file)) };
            if !target.exists() && !bring(root, &site, &target) {
                wrong.insert(format!("{}: {link} leads nowhere", shown(&site, page)));
            } else if !anchor.is_empty() && pages.contains(&target) && !has_anchor(&target, anchor) {
                wrong.insert(format!("{}: {link} has no such place", shown(&site, page)));
            }
        }
    }
    match wrong.is_empty() {
        true => Ok(site.join("docs/index.html")),
        false => Err(wrong.into_iter().collect::<Vec<_>>().join("\n")),
    }
}

/// Puts the file of the repository that `target` in the site stands for in its place.
fn bring(root: &Path, site: &Path, target: &Path) -> bool {
    let Ok(inside) = target.strip_prefix(site) else { return false };
    let file = root.join(inside);
    // mdBook takes every Markdown file for a page of its own.
    let page = file.with_extension("md");
    let made = |target: &Path| fs::create_dir_all(target.parent().expect("it is in a folder"));
    match inside.extension().is_some_and(|ending| ending == "html") && page.is_file() {
        true => fs::read_to_string(&page).is_ok_and(|text| {
            let text = text.replace('&', "&amp;").replace('<', "&lt;");
            made(target).and_then(|()| fs::write(target, format!("<!doctype html><pre>{text}</pre>"))).is_ok()
        }),
        false if file.is_dir() => made(target).and_then(|()| fs::create_dir_all(target)).is_ok(),
        false => file.is_file() && made(target).and_then(|()| fs::copy(&file, target)).is_ok(),
    }
}

fn find(folder: &Path, pages: &mut Vec<PathBuf>) -> std::io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            find(&path, pages)?;
        } else if path.extension().is_some_and(|ending| ending == "html")
            && !path.ends_with("print.html")
            && !path.ends_with("toc.html")
            && !path.ends_with("404.html")
        {
            pages.push(path);
        }
    }
    Ok(())
}

/// The relative targets of links and images of a page.
fn links(text: &str) -> impl Iterator<Item = &str> {
    let of = |mark: &'static str| {
        text.split(mark).skip(1).filter_map(|rest| rest.split('"').next()).filter(|link| !link.is_empty())
    };
    of(" href=\"")
        .chain(of(" src=\""))
        .filter(|link| !link.contains("://") && !link.starts_with("mailto:") && !link.starts_with("data:"))
}

fn has_anchor(page: &Path, anchor: &str) -> bool {
    fs::read_to_string(page).is_ok_and(|text| text.contains(&format!("id=\"{anchor}\"")))
}

/// `path` without `..`.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => drop(plain.pop()),
            Component::CurDir => {}
            part => plain.push(part),
        }
    }
    plain
}

fn shown(site: &Path, page: &Path) -> String {
    page.strip_prefix(site).unwrap_or(page).display().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn relative_links_are_found() {
        let text = r#"<a href="a.html#b">x</a> <img src="c.svg"> <a href="https://d.e"> <a href="f/">"#;
        assert_eq!(links(text).collect::<Vec<_>>(), ["a.html#b", "f/", "c.svg"]);
        assert_eq!(plain(Path::new("/a/b/../c/./d")), Path::new("/a/c/d"));
    }
}
