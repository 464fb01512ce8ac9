//! minisign signatures over the manifest, which vouches for everything else.

use std::fs;
use std::io::Cursor;
use std::path::Path;

use firstlight_schema::snapshot::{MANIFEST, SIGNATURE};
use firstlight_schema::validation::{Place, Rule, RuleOutcome, RuleResult};
use minisign::{PublicKey, PublicKeyBox, SecretKeyBox, SignatureBox};

use super::Files;
use crate::EngineError;

pub const NO_SIGNATURE: &str = "there is no signature";
const UNTRUSTED: &str = "untrusted comment: ";
const OUR_COMMENT: &str = "signature of a firstlight snapshot";
/// 64 bytes in base 64.
const SECOND_LENGTH: usize = 88;
const MINISIGN_COMMENT: &str = "signature from minisign secret key";

/// Signs a sealed folder's manifest with a secret key of minisign's; asks for its password if it
/// has one.
pub fn sign(folder: &Path, key: &Path, id: &str) -> Result<(), EngineError> {
    let text = fs::read_to_string(key).map_err(EngineError::file("read", key))?;
    let wrong = |error: minisign::PError| EngineError::Key {
        path: key.to_owned(),
        reason: error.to_string(),
    };
    let sealed = SecretKeyBox::from_string(&text).map_err(wrong)?;
    let plain = SecretKeyBox::from_string(&text).map_err(wrong)?.into_unencrypted_secret_key();
    let secret = match plain {
        Ok(secret) => secret,
        Err(_) => sealed.into_secret_key(None).map_err(wrong)?,
    };
    let manifest = folder.join(MANIFEST);
    let content = fs::read(&manifest).map_err(EngineError::file("read", &manifest))?;
    let comment = format!("firstlight snapshot {id}");
    let signature =
        minisign::sign(None, &secret, Cursor::new(content), Some(&comment), Some(OUR_COMMENT))
            .map_err(wrong)?;
    crate::store::write_whole(&folder.join(SIGNATURE), &signature.into_string())
}

/// Checks the signature against a public key: a file of minisign's, or its last line.
pub fn check_signature(files: &Files, key: Option<&str>) -> Result<RuleResult, EngineError> {
    let result = |outcome, evidence: &str| RuleResult::new(Rule::Signature, outcome, evidence);
    let signature = files.get(SIGNATURE);
    let (key, signature) = match (key, signature) {
        (None, None) => return Ok(result(RuleOutcome::NotChecked, NO_SIGNATURE)),
        (None, Some(_)) => {
            let text = "there is a signature, and no key was given (--key)";
            return Ok(result(RuleOutcome::NotChecked, text));
        }
        (Some(_), None) => return Ok(result(RuleOutcome::Fail, NO_SIGNATURE)),
        (Some(key), Some(signature)) => (public_key(key)?, signature),
    };
    let manifest = files.get(MANIFEST).unwrap_or_default();
    let checked = str::from_utf8(signature)
        .map_err(|error| error.to_string())
        .and_then(parse)
        .and_then(|signature| {
            minisign::verify(&key, &signature, Cursor::new(manifest), true, false, false)
                .map_err(|error| error.to_string())
        });
    Ok(match checked {
        Ok(()) => {
            result(RuleOutcome::Pass, &format!("the manifest is signed by {}", key.to_base64()))
        }
        Err(error) => {
            let place =
                Place::file(SIGNATURE, error, format!("a signature by {}", key.to_base64()));
            RuleResult::unless(Rule::Signature, vec![place], "the signature is not by this key")
        }
    })
}

/// The signature, if the file holds it and nothing else. The first line is not signed, so only a fixed
/// comment is allowed.
fn parse(text: &str) -> Result<SignatureBox, String> {
    let signature = SignatureBox::from_string(text).map_err(|error| error.to_string())?;
    let unsigned = text.lines().next().unwrap_or_default();
    if ![OUR_COMMENT, MINISIGN_COMMENT]
        .iter()
        .any(|known| unsigned == format!("{UNTRUSTED}{known}"))
    {
        return Err("its untrusted comment is not the usual one".to_owned());
    }
    // The padding of the second signature could hide one more byte, which nothing would check.
    let second = text.lines().nth(3).unwrap_or_default();
    if second.len() != SECOND_LENGTH || !second.ends_with("==") {
        return Err("its second signature has another length".to_owned());
    }
    if signature.to_string().trim_end_matches('\n') != text.trim_end_matches('\n')
        || text.len() > text.trim_end_matches('\n').len() + 1
    {
        return Err("there is more in the file than a signature".to_owned());
    }
    Ok(signature)
}

fn public_key(key: &str) -> Result<PublicKey, EngineError> {
    let wrong =
        |error: minisign::PError| EngineError::Key { path: key.into(), reason: error.to_string() };
    let path = Path::new(key);
    if !path.is_file() {
        return PublicKey::from_base64(key).map_err(wrong);
    }
    let text = fs::read_to_string(path).map_err(EngineError::file("read", path))?;
    PublicKeyBox::from_string(&text).and_then(PublicKeyBox::into_public_key).map_err(wrong)
}

#[cfg(test)]
mod tests {
    use minisign::KeyPair;

    use super::*;

    #[test]
    fn every_other_byte_in_the_signature_is_found() {
        let KeyPair { pk, sk } = KeyPair::generate_unencrypted_keypair().unwrap();
        let manifest = b"{}".to_vec();
        let comment = Some("firstlight snapshot sha256:00");
        let reader = Cursor::new(manifest.clone());
        let made = minisign::sign(None, &sk, reader, comment, Some(OUR_COMMENT)).unwrap();
        let text = made.into_string().into_bytes();
        let outcome = |signature: &[u8]| {
            let mut files = Files::default();
            files.put(MANIFEST, manifest.clone());
            files.put(SIGNATURE, signature.to_vec());
            check_signature(&files, Some(&pk.to_base64())).unwrap().outcome
        };
        assert_eq!(outcome(&text), RuleOutcome::Pass);
        let mut missed = Vec::new();
        for at in 0..text.len() {
            for byte in (b' '..=b'~').chain(*b"\n\r\0").filter(|&byte| byte != text[at]) {
                let mut changed = text.clone();
                changed[at] = byte;
                if outcome(&changed) == RuleOutcome::Pass {
                    missed.push((at, text[at] as char, byte as char));
                }
            }
        }
        assert_eq!(missed, []);
    }
}
