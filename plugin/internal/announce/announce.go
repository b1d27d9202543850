// Package announce defines the messages in which agents report finished work: to the
// channel of their session (S4.7), and to the session that spawned them (S5.5).
package announce

// Skip is the answer with which an agent declines to announce anything.
const Skip = "ANNOUNCE_SKIP"

// Seconds limits the duration of an announce run, and of a turn of the reply-back loop
// before it, from the start of the run.
const Seconds = 60
