use std::fmt;

use serde_json::{Number, Value};

use crate::decimal::Decimal;

/// The first difference between a JSON value and the expected one.
#[derive(Debug)]
pub struct Difference {
    /// A JSON Pointer.
    pub pointer: String,
    pub expected: String,
    pub actual: String,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}: expected {}, got {}",
            self.pointer, self.expected, self.actual
        )
    }
}

impl std::error::Error for Difference {}

/// Compares two JSON values; None means that the value is absent. Members may be in any order, and numbers are compared by their exact value.
pub fn compare(
    pointer: &str,
    expected: Option<&Value>,
    actual: Option<&Value>,
) -> Result<(), Difference> {
    let equal = match (expected, actual) {
        (Some(Value::Object(expected)), Some(Value::Object(actual))) => {
            let added = actual.keys().filter(|name| !expected.contains_key(*name));
            return expected.keys().chain(added).try_for_each(|name| {
                let pointer = format!("{pointer}/{}", name.replace('~', "~0").replace('/', "~1"));
                compare(&pointer, expected.get(name), actual.get(name))
            });
        }
        (Some(Value::Array(expected)), Some(Value::Array(actual))) => {
            return (0..expected.len().max(actual.len())).try_for_each(|i| {
                compare(&format!("{pointer}/{i}"), expected.get(i), actual.get(i))
            });
        }
        (Some(Value::Number(expected)), Some(Value::Number(actual))) => {
            same_number(expected, actual)
        }
        _ => expected == actual,
    };
    if equal {
        return Ok(());
    }
    let text = |value: Option<&Value>| value.map_or("nothing".into(), Value::to_string);
    Err(Difference {
        pointer: pointer.into(),
        expected: text(expected),
        actual: text(actual),
    })
}

fn same_number(a: &Number, b: &Number) -> bool {
    match (Decimal::parse(a.as_str()), Decimal::parse(b.as_str())) {
        (Some(a), Some(b)) => a == b,
        _ => a == b, // by their text
    }
}

#[cfg(test)]
mod tests {
    use super::compare;

    fn difference(expected: &str, actual: &str) -> Option<String> {
        let [expected, actual] = [expected, actual].map(|text| serde_json::from_str(text).unwrap());
        compare("", Some(&expected), Some(&actual))
            .err()
            .map(|difference| difference.to_string())
    }

    #[test]
    fn equal() {
        assert_eq!(
            difference(
                r#"{"a":[1,{"b":null}],"c":1e2}"#,
                r#"{"c":100.0,"a":[1.0,{"b":null}]}"#
            ),
            None
        );
        assert_eq!(
            difference("1e99999999999999999999", "1e99999999999999999999"),
            None
        );
    }

    #[test]
    fn different() {
        for (expected, actual, says) in [
            (
                "9007199254740993",
                "9007199254740992",
                ": expected 9007199254740993, got 9007199254740992",
            ),
            (
                r#"{"a":[1,2]}"#,
                r#"{"a":[2,1]}"#,
                "/a/0: expected 1, got 2",
            ),
            ("[1]", "[1,2]", "/1: expected nothing, got 2"),
            (r#"{"a":null}"#, "{}", "/a: expected null, got nothing"),
            ("{}", r#"{"a/b~":0}"#, "/a~1b~0: expected nothing, got 0"),
            ("1", r#""1""#, r#": expected 1, got "1""#),
        ] {
            assert_eq!(difference(expected, actual).as_deref(), Some(says));
        }
    }
}
