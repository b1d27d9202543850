// Package importer reads OpenClaw's file store into a store.Loader: sessions
// from each agent's sessions.json, messages from their transcripts, and the
// outcomes of spawned children from the run registry.
//
// # Guarantees
//
//   - The source is only read. Every file is opened read-only, nothing is
//     locked, and no file outside the state directory is opened, whatever an
//     entry or a symbolic link names.
//   - A repeated import updates the store. A message is identified by its line's
//     id, or by its content if the line has no id, so no message is stored twice;
//     an unchanged transcript is not read again. Records that were removed from
//     the source remain in the store.
//   - Memory is bounded by the session stores and the longest line, plus a few bytes
//     for each message of the current transcript. Work is committed every few
//     thousand messages or few megabytes, each transcript's bookmark with or after
//     its last messages, so that an import resumes where an interrupted one stopped.
//   - Skipped and repaired records are counted in the Report, and the first MaxListed
//     of each kind are listed with file and line. Transcript lines of other types are
//     counted. Only members that OpenClaw rebuilds and unknown members of a delivery
//     target are omitted without a report.
//
// # Failures
//
// Import fails if the directory is not a state directory, if the store fails, or
// if its context ends. Every other problem (a broken sessions.json, a missing
// transcript, half a line after a crash) is reported, and the import continues.
package importer
