/// The value of a JSON number: `digits` × 10^`exponent`, without leading or trailing zeros, so that equal numbers have equal fields.
#[derive(Debug, PartialEq, Eq)]
pub struct Decimal {
    negative: bool,
    digits: String,
    exponent: i128,
}

impl Decimal {
    /// Parses a valid JSON number. None if its exponent does not fit in 64 bits.
    pub fn parse(text: &str) -> Option<Self> {
        let unsigned = text.strip_prefix('-').unwrap_or(text);
        let (mantissa, exponent) = unsigned.split_once(['e', 'E']).unwrap_or((unsigned, "0"));
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let all = format!("{whole}{fraction}");
        let significant = all.trim_end_matches('0');
        let digits = significant.trim_start_matches('0');
        if digits.is_empty() {
            return Some(Decimal {
                negative: false,
                digits: String::new(),
                exponent: 0,
            });
        }
        let exponent = i128::from(exponent.parse::<i64>().ok()?);
        let shift = (all.len() - significant.len()) as i128 - fraction.len() as i128;
        Some(Decimal {
            negative: text.starts_with('-'),
            digits: digits.into(),
            exponent: exponent + shift,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::Decimal;

    #[test]
    fn equal_by_value() {
        for (a, b) in [
            ("1", "1.0"),
            ("1", "1e0"),
            ("1", "10E-1"),
            ("100", "1e+2"),
            ("0.2e1", "2"),
            ("0.00010", "1e-4"),
            ("0", "-0.0e7"),
            ("9007199254740993", "9007199254740993.0"),
            ("-12.50", "-125e-1"),
        ] {
            assert_eq!(
                Decimal::parse(a).unwrap(),
                Decimal::parse(b).unwrap(),
                "{a} and {b}"
            );
        }
    }

    #[test]
    fn different_by_value() {
        for (a, b) in [
            ("9007199254740993", "9007199254740992"),
            ("0.1", "0.10000000000000000555"),
            ("1", "-1"),
            ("1", "10"),
            ("0", "1e-400"),
            ("1e9223372036854775807", "1e9223372036854775806"),
        ] {
            assert_ne!(
                Decimal::parse(a).unwrap(),
                Decimal::parse(b).unwrap(),
                "{a} and {b}"
            );
        }
    }

    #[test]
    fn exponent_beyond_64_bits() {
        assert_eq!(Decimal::parse("1e9223372036854775808"), None);
    }
}
