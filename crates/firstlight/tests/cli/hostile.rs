//! Malicious archives and documents: each is rejected with the place, and nothing is written.

use std::fs::{self, File};
use std::io::Write;
use std::path::Path;

use minisign::KeyPair;
use serde_json::Value;
use tar::{Builder, EntryType, Header};

use crate::snapshot::{firstlight, measured};
use crate::support::Sandbox;

/// Packs entries unchanged, with names that `tar` itself would not write.
fn pack(target: &Path, entries: &[(&str, EntryType, &[u8])]) {
    let encoder = zstd::Encoder::new(File::create(target).unwrap(), 1).unwrap();
    let mut builder = Builder::new(encoder);
    for (name, kind, content) in entries {
        let mut header = Header::new_gnu();
        header.as_gnu_mut().unwrap().name[..name.len()].copy_from_slice(name.as_bytes());
        header.set_entry_type(*kind);
        header.set_size(content.len() as u64);
        if matches!(kind, EntryType::Symlink | EntryType::Link) {
            header.set_link_name("/etc/passwd").unwrap();
        }
        header.set_mode(0o644);
        header.set_cksum();
        builder.append(&header, *content).unwrap();
    }
    builder.into_inner().unwrap().finish().unwrap();
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap().flatten();
    let mut names: Vec<String> =
        entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

fn refused(sandbox: &Sandbox, snapshot: &str, words: &[&str]) {
    let before = names(sandbox.path());
    let finished = firstlight(sandbox, &["verify", snapshot]);
    assert_eq!(finished.code, 6, "{}{}", finished.stdout, finished.stderr);
    for word in words {
        assert!(finished.stderr.contains(word), "{word}\n{}", finished.stderr);
    }
    assert!(finished.stderr.contains("\nhint: "), "{}", finished.stderr);
    assert_eq!(names(sandbox.path()), before, "nothing is written");
}

#[test]
fn names_outside_the_archive_links_and_devices_are_rejected() {
    let sandbox = Sandbox::new();
    let cases: [(&str, EntryType, &str); 8] = [
        ("../evil", EntryType::Regular, "leaves the snapshot's folder"),
        ("suite/../../evil", EntryType::Regular, "leaves the snapshot's folder"),
        ("/etc/evil", EntryType::Regular, "leaves the snapshot's folder"),
        ("suite//evil", EntryType::Regular, "is not a plain name"),
        ("suite\\evil", EntryType::Regular, "is not a plain name"),
        ("link", EntryType::Symlink, "is not a regular file but a symbolic link"),
        ("link", EntryType::Link, "is not a regular file but a hard link"),
        ("device", EntryType::Block, "is not a regular file but a device"),
    ];
    for (name, kind, why) in cases {
        pack(&sandbox.path().join("bad.tar.zst"), &[(name, kind, b"")]);
        refused(&sandbox, "bad.tar.zst", &["`bad.tar.zst` is refused", name, why]);
    }
}

#[test]
fn a_duplicate_file_is_rejected() {
    let sandbox = Sandbox::new();
    let entry = ("manifest.json", EntryType::Regular, b"{}".as_slice());
    pack(&sandbox.path().join("twice.tar.zst"), &[entry, entry]);
    refused(&sandbox, "twice.tar.zst", &["`manifest.json` appears twice"]);
}

#[test]
fn a_decompression_bomb_is_rejected_before_it_is_large() {
    let sandbox = Sandbox::new();
    let file = File::create(sandbox.path().join("bomb.tar.zst")).unwrap();
    let mut encoder = zstd::Encoder::new(file, 1).unwrap();
    let mut header = Header::new_gnu();
    header.set_path("raw.jsonl").unwrap();
    header.set_size(1 << 30);
    header.set_cksum();
    encoder.write_all(header.as_bytes()).unwrap();
    let zeros = vec![0; 1 << 20];
    for _ in 0..100 {
        encoder.write_all(&zeros).unwrap();
    }
    encoder.finish().unwrap();
    refused(&sandbox, "bomb.tar.zst", &["`raw.jsonl`", "refused as a decompression bomb"]);
}

#[test]
fn a_truncated_archive_and_a_file_that_is_not_an_archive_are_rejected() {
    let sandbox = Sandbox::new();
    measured(&sandbox);
    let packed = firstlight(&sandbox, &["snapshot", "run", "--archive"]);
    assert_eq!(packed.code, 0, "{}", packed.stderr);
    let bytes = fs::read(sandbox.path().join("run.tar.zst")).unwrap();
    fs::write(sandbox.path().join("half.tar.zst"), &bytes[..bytes.len() / 2]).unwrap();
    refused(&sandbox, "half.tar.zst", &["`half.tar.zst` is refused"]);
    sandbox.file("text.tar.zst", "hello");
    let none = firstlight(&sandbox, &["verify", "text.tar.zst"]);
    assert_eq!(none.code, 2);
    assert!(none.stderr.contains("`text.tar.zst` is not a snapshot"), "{}", none.stderr);
}

#[test]
fn bytes_after_the_archive_and_after_the_signature_are_rejected() {
    let sandbox = Sandbox::new();
    measured(&sandbox);
    let packed = firstlight(&sandbox, &["snapshot", "run", "--archive"]);
    assert_eq!(packed.code, 0, "{}", packed.stderr);
    let bytes = fs::read(sandbox.path().join("run.tar.zst")).unwrap();
    let mut further = zstd::encode_all(&b"more than zeros"[..], 1).unwrap();
    let longer = [bytes.as_slice(), further.as_slice()].concat();
    fs::write(sandbox.path().join("frame.tar.zst"), longer).unwrap();
    refused(&sandbox, "frame.tar.zst", &["has extra bytes after its end"]);
    further = zstd::encode_all(&vec![0; 1 << 20][..], 1).unwrap();
    let longer = [bytes.as_slice(), further.as_slice()].concat();
    fs::write(sandbox.path().join("zeros.tar.zst"), longer).unwrap();
    refused(&sandbox, "zeros.tar.zst", &["has extra bytes after its end"]);
    fs::write(sandbox.path().join("plain.tar.zst"), [&bytes[..], b"plain"].concat()).unwrap();
    refused(&sandbox, "plain.tar.zst", &["`plain.tar.zst` is refused"]);

    let KeyPair { pk, sk } = KeyPair::generate_unencrypted_keypair().unwrap();
    sandbox.file("key", &sk.to_box(None).unwrap().to_string());
    let key = pk.to_base64();
    let signed = firstlight(&sandbox, &["snapshot", "run", "--sign", "key"]);
    assert_eq!(signed.code, 0, "{}", signed.stderr);
    let verify = ["verify", "run", "--key", &key];
    assert_eq!(firstlight(&sandbox, &verify).code, 0);
    let path = sandbox.path().join("run/manifest.json.minisig");
    let signature = fs::read_to_string(&path).unwrap();
    fs::write(&path, signature + "and more\n").unwrap();
    let longer = firstlight(&sandbox, &verify);
    assert_eq!(longer.code, 6, "{}{}", longer.stdout, longer.stderr);
}

#[test]
fn a_pipe_is_rejected_without_waiting_for_it() {
    let sandbox = Sandbox::new();
    let pipe = sandbox.path().join("pipe.tar.zst");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let finished = firstlight(&sandbox, &["verify", "pipe.tar.zst"]);
    assert_eq!(finished.code, 2, "{}", finished.stderr);
}

#[test]
fn readings_that_would_need_much_memory_are_rejected_with_the_limit() {
    let sandbox = Sandbox::new();
    let folder = measured(&sandbox);
    // Two characters become sixteen bytes.
    let text = format!("{{\"opened\":[{}1]}}\n", "1,".repeat(4 << 20));
    fs::write(folder.join("raw.jsonl"), text).unwrap();
    refused(&sandbox, "run", &["`raw.jsonl` would take more than 436207616 bytes of memory"]);
    fs::write(folder.join("manifest.json"), vec![b' '; 9 << 20]).unwrap();
    refused(&sandbox, "run", &["`manifest.json` has 9437184 bytes, 8388608 are allowed"]);
}

#[test]
fn long_and_deep_names_are_rejected() {
    let sandbox = Sandbox::new();
    let folder = measured(&sandbox);
    let deep = "d/".repeat(40);
    fs::create_dir_all(folder.join(&deep)).unwrap();
    refused(&sandbox, "run", &["lies more than 16 folders deep"]);
    // Each component is short enough for every file system, but the whole path is not.
    let long = format!("{}/{0}/{0}/file", "n".repeat(200));
    fs::remove_dir_all(folder.join("d")).unwrap();
    fs::create_dir_all(folder.join(&long).parent().unwrap()).unwrap();
    fs::write(folder.join(&long), "").unwrap();
    refused(&sandbox, "run", &["is a name of 602 bytes, 512 are allowed"]);
}

#[test]
fn a_line_break_of_a_snapshot_does_not_start_a_line_of_the_check() {
    let sandbox = Sandbox::new();
    let path = measured(&sandbox).join("manifest.json");
    let mut manifest: Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
    manifest["origin"]["created"] = "now\nverified: 17 passed".into();
    fs::write(&path, manifest.to_string() + "\n").unwrap();
    let finished = firstlight(&sandbox, &["verify", "run"]);
    assert_eq!(finished.code, 6);
    assert!(!finished.stdout.contains("\nverified"), "{}", finished.stdout);
    assert!(finished.stdout.contains("now\\nverified: 17"), "{}", finished.stdout);
}

#[test]
fn a_link_inside_a_folder_is_rejected() {
    let sandbox = Sandbox::new();
    let folder = measured(&sandbox);
    std::os::unix::fs::symlink("/etc/passwd", folder.join("suite/link")).unwrap();
    refused(&sandbox, "run", &["`suite/link` is neither a file nor a folder"]);
}

#[test]
fn ten_thousand_nested_arrays_are_rejected_everywhere() {
    let sandbox = Sandbox::new();
    let folder = measured(&sandbox);
    let nested = "[".repeat(10_000) + &"]".repeat(10_000);
    for file in ["result.json", "raw.jsonl"] {
        let path = folder.join(file);
        let honest = fs::read_to_string(&path).unwrap();
        fs::write(&path, format!("{{\"a\":{nested}}}\n")).unwrap();
        let finished = firstlight(&sandbox, &["verify", "run"]);
        assert_eq!(finished.code, 6, "{}", finished.stderr);
        let deep = finished.stdout.contains("recursion limit") || file == "raw.jsonl";
        assert!(deep && finished.stdout.contains(file), "{}", finished.stdout);
        fs::write(&path, honest).unwrap();
    }
    fs::write(folder.join("manifest.json"), nested).unwrap();
    refused(&sandbox, "run", &["`manifest.json`"]);
}

#[test]
fn a_future_major_version_is_rejected_with_a_hint() {
    let sandbox = Sandbox::new();
    let folder = measured(&sandbox);
    let path = folder.join("manifest.json");
    let mut manifest: Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
    manifest["schema"]["version"]["major"] = Value::from(2);
    fs::write(&path, manifest.to_string()).unwrap();
    refused(&sandbox, "run", &["has version 2.2, this firstlight reads 1.x", "or a newer one"]);
}

#[test]
fn an_empty_field_of_the_manifest_is_named() {
    let sandbox = Sandbox::new();
    let folder = measured(&sandbox);
    let path = folder.join("manifest.json");
    let mut manifest: Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
    manifest["origin"]["machine"]["cpu"] = Value::from("");
    fs::write(&path, manifest.to_string()).unwrap();
    let finished = firstlight(&sandbox, &["verify", "run"]);
    assert_eq!(finished.code, 6);
    let place = "manifest.json at /origin/machine/cpu: \"\", expected a value, or null";
    assert!(finished.stdout.contains(place), "{}", finished.stdout);
}
