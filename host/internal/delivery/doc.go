// Package delivery is the outbox: it posts the texts of sessions to chat channels, and
// ensures that every delivery reaches a final status.
//
// A delivery is pending until it is delivered, skipped or failed. It is skipped if its
// session no longer exists or has no target, or if the send policy denies it. It fails
// if the sink refuses it permanently, if no sink serves its channel, or if it could not
// be posted in time. A skipped or failed delivery can be sent again on demand. One
// attempt is
//
//	claim, with the target and the attempt's number → post → delivered, or failed, or pending until later
//
// The first and the last step are commits. The last one does nothing if another process
// has claimed the delivery in the meantime. The first attempt resolves the target (S9)
// and stores it: later attempts go to the same destination.
//
// # Once, or at least once
//
// Every attempt carries the same idempotency key, the delivery's id (S10.3). A process
// posts a delivery again only if the sink reported a failure. If the post succeeded and
// its recording failed, the process retries only the recording. If the process dies
// between the two, the next process posts again. The guarantee then depends on the sink:
//
//	webhook   once: the receiver gets the key with each request and drops known keys
//	discord   once within the few minutes for which Discord remembers a message's nonce; at least once later
//	telegram  at least once: Telegram accepts no key
//	slack     at least once: Slack accepts an id, but does not promise to check it
//	log       at least once
//
// If the connection breaks after the message was sent and before the answer arrives,
// the sink reports a failure. The message is then posted again, and appears twice if
// the service ignores the key.
//
// # Retries and order
//
// The deliveries to one destination (channel and recipient) form a queue. They are
// attempted in the order of their creation, one at a time, each once per round. After a
// round with temporary failures, the queue pauses. The pause depends on the delivery
// that has failed most often: 1 s, doubling up to 5 min. So the order survives an
// outage, and a message that fails repeatedly delays others by at most one such pause.
// When the service requests a pause (at most an hour), nothing is posted to that
// destination until the pause is over. A round ends after its fourth failure. The order
// may change when the process is restarted.
//
// A delivery that still fails MaxAge after its creation gets the status failed. Queues
// work concurrently, with limits for all posts and for each channel, so that a channel
// whose posts hang does not stop the others.
package delivery
