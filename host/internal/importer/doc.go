// Package importer reads OpenClaw's file store into a store.Loader: sessions
// from each agent's sessions.json, messages from their transcripts, and what
// became of spawned children from the run registry.
//
// # What is promised
//
//   - The source is only read: every file is opened read-only, nothing is
//     locked, and nothing outside the state directory is opened, whatever an
//     entry or a symbolic link says.
//   - Importing again updates. A message is known by its line's id, or by its
//     content when the line has none, so nothing is stored twice; a transcript
//     that has not changed is not read again. What vanished from the source
//     stays in the store.
//   - Memory is bounded by the longest line, not by a transcript. Work is
//     committed every few thousand messages or few megabytes, each transcript's
//     bookmark together with its last messages: an import that was interrupted
//     goes on where it was.
//   - Nothing is dropped silently. What could not be taken, and what was
//     repaired on the way in, is counted in the Report and listed with its file
//     and line.
//
// # What fails
//
// Import fails if the directory is no state directory, if the store fails, or
// if its context ends. Everything else (a broken sessions.json, a missing
// transcript, half a line after a crash) is reported, and the rest goes on.
package importer
