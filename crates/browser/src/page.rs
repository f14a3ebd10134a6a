//! The files of the page. A WebAssembly module does not have them in it, as it does not use them.

/// A file of the page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct File {
    /// Path below the page's address.
    pub path: &'static str,
    /// Contents.
    pub text: &'static str,
}

/// Declares [`FILES`] by their paths.
macro_rules! files {
    ($($path:literal,)*) => {
        /// All files but the module and the scenarios of `laxity new`.
        pub const FILES: &[File] = &[
            $(File { path: $path, text: include_str!(concat!("../page/", $path)) },)*
        ];
    };
}

files! {
    "adapter.js",
    "app.js",
    "contracts.js",
    "curves.js",
    "design.js",
    "drawing.css",
    "engine.js",
    "examples.js",
    "examples/adapter.toml",
    "field.js",
    "index.html",
    "network.js",
    "queues.js",
    "results.css",
    "results.js",
    "share.js",
    "state.js",
    "style.css",
    "text.js",
    "timeline.js",
    "units.js",
    "work.js",
    "worker.js",
    "vendor/codemirror/commands.js",
    "vendor/codemirror/crelt.js",
    "vendor/codemirror/find-cluster-break.js",
    "vendor/codemirror/language.js",
    "vendor/codemirror/lezer-common.js",
    "vendor/codemirror/lezer-highlight.js",
    "vendor/codemirror/lint.js",
    "vendor/codemirror/state.js",
    "vendor/codemirror/streamparser.js",
    "vendor/codemirror/style-mod.js",
    "vendor/codemirror/toml.js",
    "vendor/codemirror/view.js",
    "vendor/codemirror/w3c-keyname.js",
    "vendor/licences/codemirror.txt",
    "vendor/licences/crelt.txt",
    "vendor/licences/lezer.txt",
    "vendor/licences/lit-html.txt",
    "vendor/licences/marijn-find-cluster-break.txt",
    "vendor/licences/style-mod.txt",
    "vendor/licences/uplot.txt",
    "vendor/licences/w3c-keyname.txt",
    "vendor/lit-html/directive-helpers.js",
    "vendor/lit-html/directive.js",
    "vendor/lit-html/directives/live.js",
    "vendor/lit-html/directives/repeat.js",
    "vendor/lit-html/lit-html.js",
    "vendor/uplot.css",
    "vendor/uplot.js",
}

/// The media type of the file at `path`.
pub fn media_type(path: &str) -> &'static str {
    match path.rsplit('.').next() {
        Some("html") => "text/html; charset=utf-8",
        Some("css") => "text/css; charset=utf-8",
        Some("js") => "text/javascript; charset=utf-8",
        Some("wasm") => "application/wasm",
        _ => "text/plain; charset=utf-8",
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::Path;

    use super::*;

    #[test]
    fn every_file_of_the_page_is_listed() {
        fn walk(root: &Path, at: &Path, found: &mut BTreeSet<String>) {
            for entry in std::fs::read_dir(at).unwrap() {
                let path = entry.unwrap().path();
                match path.is_dir() {
                    true => walk(root, &path, found),
                    false => {
                        let below = path.strip_prefix(root).unwrap().to_str().unwrap().replace('\\', "/");
                        found.insert(below);
                    }
                }
            }
        }
        let (root, mut found) = (Path::new(env!("CARGO_MANIFEST_DIR")).join("page"), BTreeSet::new());
        walk(&root, &root, &mut found);
        assert!(found.remove("vendor/README.md"));
        assert_eq!(FILES.iter().map(|file| file.path.to_string()).collect::<BTreeSet<_>>(), found);
    }

    #[test]
    fn no_file_names_another_server() {
        for file in FILES.iter().filter(|file| !file.path.starts_with("vendor/")) {
            let text = file.text.replace("http://www.w3.org/2000/svg", "");
            assert!(!text.contains("http://") && !text.contains("https://"), "{}", file.path);
        }
    }
}
