// Package announce is what agents say when something is over: to the channel of
// their session (S4.7), and to who spawned them (S5.5).
package announce

// Skip is an answer that nothing is posted for.
const Skip = "ANNOUNCE_SKIP"

// Seconds is how long an agent may take for an announce, and for a turn that leads
// to one, from its start.
const Seconds = 60
