//! Author and time of a report: version, build, date. Only reports and profiles ask; no result
//! does.

use std::time::SystemTime;

use laxity_report::present::Stamp;

/// The commit that this program was built from, or `unknown`.
pub(crate) const BUILD: &str = env!("LAXITY_BUILD");

/// This program, now.
pub(crate) fn now() -> Stamp {
    #[allow(clippy::disallowed_methods, reason = "the date of a report; no result depends on it")]
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    Stamp { build: BUILD.into(), date: utc(now.as_secs()), ..Stamp::default() }
}

/// The stamp in words.
pub(crate) fn words(stamp: &Stamp) -> String {
    format!("laxity {}, build {}, {}", stamp.version, stamp.build, stamp.date)
}

/// A Unix time as `2026-11-21 21:03:11 UTC`.
fn utc(seconds: u64) -> String {
    let (days, second) = (seconds / 86_400, seconds % 86_400);
    // Counted from 1 March of year 0, so that the leap day is the last of its year; 146 097 days
    // are 400 years.
    let days = days + 719_468;
    let (era, day) = (days / 146_097, days % 146_097);
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let (month, later) = if month < 10 { (month + 3, 0) } else { (month - 9, 1) };
    let year = year + era * 400 + later;
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    format!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02} UTC")
}

#[cfg(test)]
mod tests {
    use super::utc;

    #[test]
    fn dates_are_those_of_the_calendar() {
        for (seconds, date) in [
            (0, "1970-01-01 00:00:00 UTC"),
            (951_782_399, "2000-02-28 23:59:59 UTC"),
            (951_782_400, "2000-02-29 00:00:00 UTC"),
            (1_709_251_199, "2024-02-29 23:59:59 UTC"),
            (1_709_251_200, "2024-03-01 00:00:00 UTC"),
            (4_107_542_400, "2100-03-01 00:00:00 UTC"),
        ] {
            assert_eq!(utc(seconds), date);
        }
    }
}
