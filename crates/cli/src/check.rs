//! `laxity check`.

use std::path::Path;

use laxity_scenario::files::{Disk, read_text};
use laxity_service::network::NodeNetwork;
use laxity_service::{NodeFile, Security};
use laxity_world::text::{clean, clean_lines};

use crate::arguments::Check;
use crate::terminal::Terminal;
use crate::{Exit, files};

pub(crate) fn check(arguments: &Check, terminal: &mut Terminal) -> Exit {
    let mut exit = Exit::Holds;
    let named = match files::named(&arguments.files) {
        Ok(named) => named,
        Err(reason) => {
            terminal.error(&reason);
            return Exit::BadInput;
        }
    };
    for file in &named {
        let ok = match files::load(file, &arguments.settings) {
            Ok(scenario) => {
                let points = counted(scenario.points().count(), "point");
                Some(format!("{points}, {}", counted(scenario.claims.len(), "claim")))
            }
            // A scenario is none of them, and read once.
            Err(diagnostics) => match of_service(file) {
                Some(Ok(what)) => Some(what),
                Some(Err(why)) => {
                    terminal.error(&clean_lines(&why));
                    None
                }
                None => {
                    terminal.note(&diagnostics.render(terminal.error_colour()));
                    None
                }
            },
        };
        match ok {
            Some(what) => terminal.line(&format!("ok  {}: {what}", clean(&file.display().to_string()))),
            None => exit = Exit::BadInput,
        }
    }
    exit
}

/// The contents of a node file or of a network of node files, or the error in it; `None` for any other
/// file.
fn of_service(file: &Path) -> Option<Result<String, String>> {
    let source = read_text(&Disk, file, "a file").ok()?;
    if NodeNetwork::is_one(source.text()) {
        return Some(NodeNetwork::read(file).map(|network| {
            let channels = counted(network.channels.len(), "channel");
            format!("a network of {}, {channels}", counted(network.nodes.len(), "node"))
        }));
    }
    let node = NodeFile::is_one(source.text()).then(|| NodeFile::read(file))?;
    Some(node.map_err(|why| why.to_string()).map(|node| {
        let links = counted(node.links.len(), "link");
        let missing = match &node.security {
            Security::Keys(keys) => {
                [&keys.authority, &keys.certificate, &keys.key].into_iter().find(|key| !key.exists())
            }
            Security::Off(_) => None,
        };
        let missing = missing.map(|key| format!("; {} is not there yet", clean(&key.display().to_string())));
        let nft = if node.lacks_nft() { "; `nft`, which `ingress` needs, is not in `PATH`" } else { "" };
        format!("the node {} with {links}{}{nft}", clean(&node.name), missing.unwrap_or_default())
    }))
}

/// `1 point`, `3 points`.
pub(crate) fn counted(count: usize, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}
