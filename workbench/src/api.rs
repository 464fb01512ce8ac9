//! The public API of the libraries, item by item, from their sources: `crates/*/api.txt`.
//!
//! A substitute for `cargo public-api`, which needs a nightly compiler. It lists what is written with
//! `pub`; the lint `unreachable_pub` sees to it that nothing else carries that word. It does not list
//! implementations of traits other than derived ones, nor what macros write.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use syn::{Attribute, Fields, ImplItem, Item, Signature, TraitItem, Visibility};

use xtask::release::LIBRARIES;
use xtask::shell::{Result, root};

/// The files and their content.
pub(crate) fn snapshots() -> Result<Vec<(String, String)>> {
    LIBRARIES
        .iter()
        .map(|library| Ok((format!("crates/{library}/api.txt"), api(library)?)))
        .collect()
}

fn api(library: &str) -> Result<String> {
    let source = root().join("crates").join(library).join("src");
    let mut listed = BTreeSet::new();
    Module { name: library.replace('-', "_"), folder: source.clone() }
        .file(&source.join("lib.rs"), &mut listed)?;
    Ok(listed.into_iter().map(|line| line + "\n").collect())
}

struct Module {
    name: String,
    /// Where its own modules lie.
    folder: PathBuf,
}

impl Module {
    fn file(&self, path: &Path, listed: &mut BTreeSet<String>) -> Result {
        let cannot = |error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
        let text = fs::read_to_string(path).map_err(|error| cannot(&error))?;
        let file = syn::parse_file(&text).map_err(|error| cannot(&error))?;
        self.items(file.items, listed)
    }

    fn items(&self, items: Vec<Item>, listed: &mut BTreeSet<String>) -> Result {
        for item in items {
            if let Item::Mod(module) = item {
                if !is_test(&module.attrs) {
                    self.module(module, listed)?;
                }
            } else {
                let lines = lines(item).into_iter();
                listed.extend(lines.map(|line| format!("{}: {line}", self.name)));
            }
        }
        Ok(())
    }

    fn module(&self, module: syn::ItemMod, listed: &mut BTreeSet<String>) -> Result {
        let ident = module.ident.to_string();
        let inner =
            Self { name: format!("{}::{ident}", self.name), folder: self.folder.join(&ident) };
        if let Some((_, items)) = module.content {
            return inner.items(items, listed);
        }
        let beside = self.folder.join(format!("{ident}.rs"));
        let path = if beside.exists() { beside } else { inner.folder.join("mod.rs") };
        inner.file(&path, listed)
    }
}

/// The public parts of an item, one line each.
fn lines(item: Item) -> Vec<String> {
    match item {
        Item::Fn(item) if is_public(&item.vis) => vec![signature(&item.sig)],
        Item::Const(item) if is_public(&item.vis) => {
            vec![text(&format!("const {} :", item.ident), &item.ty)]
        }
        Item::Static(item) if is_public(&item.vis) => {
            vec![text(&format!("static {} :", item.ident), &item.ty)]
        }
        Item::Type(mut item) if is_public(&item.vis) => {
            item.attrs.clear();
            vec![text("", &item)]
        }
        Item::Use(mut item) if is_public(&item.vis) => {
            item.attrs.clear();
            vec![text("", &item)]
        }
        Item::Struct(mut item) if is_public(&item.vis) => {
            retain(&mut item.attrs);
            public_fields(&mut item.fields);
            vec![text("", &item)]
        }
        Item::Enum(mut item) if is_public(&item.vis) => {
            retain(&mut item.attrs);
            for variant in &mut item.variants {
                retain(&mut variant.attrs);
                variant.fields.iter_mut().for_each(|field| field.attrs.clear());
            }
            vec![text("", &item)]
        }
        Item::Trait(mut item) if is_public(&item.vis) => {
            item.attrs.clear();
            for inner in &mut item.items {
                if let TraitItem::Fn(function) = inner {
                    function.attrs.clear();
                    function.default = function.default.take().map(|_| syn::parse_quote!({}));
                }
            }
            vec![text("", &item)]
        }
        Item::Impl(item) if item.trait_.is_none() => {
            let of = text("", &item.self_ty);
            let functions = item.items.into_iter().filter_map(|inner| match inner {
                ImplItem::Fn(function) if is_public(&function.vis) => {
                    Some(signature(&function.sig))
                }
                ImplItem::Const(constant) if is_public(&constant.vis) => {
                    Some(text(&format!("const {} :", constant.ident), &constant.ty))
                }
                _ => None,
            });
            functions.map(|function| format!("impl {of} {{ {function} }}")).collect()
        }
        _ => Vec::new(),
    }
}

fn signature(signature: &Signature) -> String {
    text("pub", signature)
}

fn text(before: &str, tokens: &impl quote::ToTokens) -> String {
    let text = tokens.to_token_stream().to_string();
    let words = before.split_whitespace().chain(text.split_whitespace());
    words.collect::<Vec<_>>().join(" ")
}

fn is_public(visibility: &Visibility) -> bool {
    matches!(visibility, Visibility::Public(_))
}

fn is_test(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|one| one.path().is_ident("cfg") && text("", one).contains("test"))
}

/// Attributes that are part of the promise.
fn retain(attributes: &mut Vec<Attribute>) {
    const KEPT: [&str; 3] = ["derive", "non_exhaustive", "cfg_attr"];
    attributes.retain(|one| KEPT.iter().any(|name| one.path().is_ident(name)));
}

/// Private fields are nobody's business but their number.
fn public_fields(fields: &mut Fields) {
    for field in fields.iter_mut() {
        field.attrs.clear();
        if !is_public(&field.vis) {
            field.ty = syn::parse_quote!(_);
            field.ident = field.ident.as_ref().map(|_| syn::parse_quote!(_private));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::lines;

    #[test]
    fn only_public_items_are_listed_and_without_their_bodies() {
        let file = syn::parse_file(
            "/// Words.\n\
             #[derive(Clone)] #[must_use] pub struct A { pub x: f64, y: Vec<u8> }\n\
             pub(crate) struct B;\n\
             impl A { pub fn new(x: f64) -> Self { todo!() } fn hidden(&self) {} }\n\
             impl Drop for A { fn drop(&mut self) {} }\n\
             pub trait C { fn call(&self) -> u8 { 1 } }\n\
             pub const D: u8 = 7;\n\
             fn e() {}",
        )
        .expect("valid Rust");
        let found: Vec<String> = file.items.into_iter().flat_map(lines).collect();
        assert_eq!(
            found,
            [
                "# [derive (Clone)] pub struct A { pub x : f64 , _private : _ }",
                "impl A { pub fn new (x : f64) -> Self }",
                "pub trait C { fn call (& self) -> u8 { } }",
                "const D : u8",
            ]
        );
    }
}
