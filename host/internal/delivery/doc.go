// Package delivery is the outbox: it posts the texts that sessions have to say to
// chat channels, and sees that each of them ends.
//
// A delivery is pending until it is delivered, skipped (its session is gone or
// has no target, or the send policy refuses it), or failed (the sink refused it
// for good, no sink serves its channel, or it could not be posted in time). What
// was skipped or failed can be sent again, on demand. One attempt is
//
//	claim, with the target and the attempt's number → post → delivered, or failed, or pending until later
//
// and both ends are commits; the second one does nothing when somebody else has
// claimed the delivery meanwhile. The target is resolved by the first attempt
// (S9) and kept: later attempts go to the same destination.
//
// # Once, or at least once
//
// Every attempt carries the same idempotency key, the delivery's id (S10.3). A
// process posts a delivery again only if the sink said that it failed; when the
// post went well and only its recording did not, the recording alone is tried
// again. If the process dies between the two, its successor posts again, and then
// it depends on the sink:
//
//	webhook   once: the receiver gets the key with each request and drops what it knows
//	discord   once within the few minutes for which Discord remembers a message's nonce; at least once later
//	telegram  at least once: there is no key to give
//	slack     at least once: it takes an id, but does not promise to look at it
//	log       at least once
//
// A connection that breaks after the message was sent, and before the answer
// came, is a failure for the sink: to one that honours no key the message is
// posted again.
//
// # Retries and order
//
// The deliveries to one destination (channel and recipient) form a queue. They are
// tried in the order of their creation, one at a time, each once a round. After a
// round in which some failed for now, the queue rests as long as the one that has
// failed most often needs: 1 s, doubling to 5 min. So an outage keeps the order,
// and a message that fails again and again holds others up for one such pause and
// no longer. When the other side names a time, nothing is tried for that target
// until then (within an hour); and no round goes on after its fourth failure. The
// order is a process's own: it begins anew with a restart.
//
// A delivery that still fails MaxAge after its creation has failed. Queues work
// side by side, within bounds for all and for each channel, so that a channel
// whose posts hang does not stop the others.
package delivery
