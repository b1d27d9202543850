// Package announce defines the messages in which agents report finished work: to the
// channel of their session (S4.7), and to the session that spawned them (S5.5).
package announce

// Skip is the answer with which an agent declines to announce anything.
const Skip = "ANNOUNCE_SKIP"

// Seconds is the time limit of an announce run, and of each turn of the reply-back loop
// (S4.6), counted from the start of the run.
const Seconds = 60
