//! A point's document: the scenario's own with the point's values in their places.
//!
//! The file of an adapter is put first: other values may go into a list that only the file has.
//! Then that list is taken from the file into the scenario, and the value is put into one of its
//! items. The scenario's own keys are laid over the file's in the end, so the list with that value
//! is read. A node's keys are last, since a list may be common to several nodes.

use serde_spanned::Spanned;
use toml::de::{DeTable, DeValue};

use super::{Plan, PointIndex, Setting, Step, stages};
use crate::beneath::{Beneath, Tables};
use crate::context::{Context, Reported};
use crate::library::Library;

impl<'i> Plan<'i> {
    /// Result of `look` on `base` at `point`, or by itself without a point, and on the adapter
    /// files beneath it.
    pub(crate) fn at<R>(
        &self,
        cx: &mut Context<'_>,
        library: &mut Library<'_>,
        base: &Spanned<DeTable<'i>>,
        point: Option<&PointIndex>,
        look: impl for<'d> FnOnce(
            &mut Context<'_>,
            &mut Library<'_>,
            Spanned<DeTable<'d>>,
            &Tables<'d>,
        ) -> Result<R, Reported>,
    ) -> Result<R, Reported> {
        let axes = self.settings.iter().zip(point.map_or(&[][..], PointIndex::indices));
        let mut settings: Vec<&Setting<'i>> =
            axes.flat_map(|(points, index)| &points[*index]).chain(&self.fixed).collect();
        settings.sort_by_key(|setting| (!setting.names_file(), setting.of_node()));
        let named = settings.iter().take_while(|setting| setting.names_file()).count();
        let (named, others) = settings.split_at(named);
        let mut document = base.clone();
        for setting in named {
            put(cx, document.get_mut(), setting, &Tables::default())?;
        }
        let reached = others.iter().any(|setting| setting.in_adapter());
        let beneath = Beneath::of(cx, library, document.get_ref(), reached);
        cx.beside = beneath.sources();
        let tables = beneath.tables();
        // Both the file's text and the scenario's outlive what is made of them here.
        let mut document: Spanned<DeTable<'_>> = document;
        for setting in others {
            put(cx, document.get_mut(), setting, &tables)?;
        }
        look(cx, library, document, &tables)
    }
}

impl Setting<'_> {
    fn names_file(&self) -> bool {
        self.in_adapter() && self.path.last() == Some(&Step::Key("file".into()))
    }

    fn of_node(&self) -> bool {
        self.path[0] == Step::Key("node".into())
    }

    fn in_adapter(&self) -> bool {
        let at = if self.of_node() { 2 } else { 0 };
        self.path.get(at) == Some(&Step::Key("adapter".into()))
    }
}

/// Puts a setting's value in its place, making tables on the way where there are none.
fn put<'i>(
    cx: &mut Context<'_>,
    root: &mut DeTable<'i>,
    setting: &Setting<'i>,
    files: &Tables<'i>,
) -> Result<(), Reported> {
    let span = setting.key.span();
    let (last, way) = setting.path.split_last().expect("a path has a step");
    let mut taken = list_beneath(root, way, files);
    let mut table = root;
    let mut steps = way.iter().peekable();
    while let Some(step) = steps.next() {
        let Step::Key(key) = step else { unreachable!("items are stepped over with their list") };
        if !table.contains_key(key.as_ref()) {
            let made = match (steps.peek(), &mut taken) {
                (Some(Step::Of(_)), None) => {
                    let reason = format!("nothing says what `{key}` is here");
                    let help =
                        format!("write `{key}` as a list in the adapter, or name a `file` that has one");
                    return Err(cx.fault(&span, reason, help));
                }
                (Some(Step::Of(_)), Some(list)) => std::mem::replace(list, DeValue::Boolean(false)),
                _ => DeValue::Table(DeTable::new()),
            };
            table.insert(Spanned::new(span.clone(), key.clone()), Spanned::new(span.clone(), made));
        }
        let mut node = table.get_mut(key.as_ref()).expect("the key is there").get_mut();
        if let Some(Step::Item(_) | Step::Of(_)) = steps.peek() {
            node = match (steps.next(), node) {
                (Some(Step::Item(index)), DeValue::Array(items)) => match items.get_mut(*index) {
                    Some(item) => item.get_mut(),
                    None => {
                        let reason = format!("`{key}` has no such item at this point");
                        return Err(cx.fault(&span, reason, format!("set it in what `{key}` is set to")));
                    }
                },
                (Some(Step::Of(wanted)), DeValue::Array(items)) => {
                    let index = stages::item(cx, &span, key, items, wanted)?;
                    items.get_mut(index).expect("it was found there").get_mut()
                }
                // Not a list, which is said below or when it is read.
                (_, node) => node,
            };
        }
        table = match node {
            DeValue::Table(table) => table,
            _ => {
                let reason = format!(
                    "`{}` leads through `{key}`, which is a value and not a table",
                    setting.key.get_ref()
                );
                return Err(cx.fault(&span, reason, format!("write `{key}` as a table where it is given")));
            }
        };
    }
    let Step::Key(key) = last else { unreachable!("a path ends in a key") };
    // The old key goes too: an unknown one is then reported at the sweep that names it.
    table.remove(key.as_ref());
    table.insert(Spanned::new(span, key.clone()), setting.value.clone());
    Ok(())
}

/// The list on this `way` that an adapter does not have itself: its file's, or what it has in
/// common with others.
fn list_beneath<'i>(root: &DeTable<'i>, way: &[Step<'_>], files: &Tables<'i>) -> Option<DeValue<'i>> {
    let keys = way.iter().map_while(|step| match step {
        Step::Key(key) => Some(key.as_ref()),
        _ => None,
    });
    let keys: Vec<&str> = keys.collect();
    if !matches!(way.get(keys.len()), Some(Step::Of(_))) {
        return None;
    }
    let (list, adapter) = keys.split_last()?;
    // From the table itself to what lies under it: what all adapters of the node have in common,
    // and all nodes.
    let own = match adapter {
        ["adapter"] => 0,
        ["node", _, "adapter"] => 1,
        ["node", _, "adapter", _] => 2,
        _ => return None,
    };
    let tables = [&adapter[..adapter.len().min(4)], &adapter[..adapter.len().min(3)], &["adapter"][..]];
    for path in &tables[2 - own..] {
        let mut steps = path.iter();
        let mut table = root.get(*steps.next()?).map(Spanned::get_ref);
        for step in steps {
            table = table.and_then(|table| table.get(*step)).map(Spanned::get_ref);
        }
        let Some(table) = table.and_then(DeValue::as_table) else { continue };
        if let Some(value) = table.get(*list) {
            return Some(value.get_ref().clone());
        }
        if let Some(file) = table.get("file") {
            let table = files.get(file.get_ref().as_str()?)?;
            return table.get(*list).map(|value| value.get_ref().clone());
        }
        if table.contains_key("kind") {
            return None;
        }
    }
    None
}
