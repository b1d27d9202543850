package main

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"

	"github.com/parley-wasm/parley/abi"
)

// load defines the calls of clients whose gateway is killed repeatedly.
type load struct {
	name     string // of the accepted calls, in the plural
	kills    int
	sessions []*abi.Session // stored before the first call
	next     func(tag string, rng *rand.Rand) call
	bounded  bool // a call is refused while its session has the maximum number of children
}

const targets = 40

// sends returns a load of sends from one session to many others.
func sends(kills int) *load {
	l := &load{name: "messages", kills: kills, sessions: []*abi.Session{session(requester, "", 0)}}
	target := func(i int) string { return fmt.Sprintf("agent:ops:t%d", i) }
	for i := range targets {
		l.sessions = append(l.sessions, session(target(i), "webhook", i))
	}
	l.next = func(tag string, rng *rand.Rand) call {
		return &send{tag: tag, from: requester, to: target(rng.IntN(targets)), channel: "webhook"}
	}
	return l
}

// parents is the number of sessions that spawn.
const parents = 8

// spawns returns a load of spawns by several sessions, every fourth of which has no channel.
// At least half of the children have the task "do".
func spawns(kills int) *load {
	l := &load{name: "spawns", kills: kills, bounded: true}
	for i := range parents {
		channel := "webhook"
		if i%4 == 3 {
			channel = ""
		}
		l.sessions = append(l.sessions, session(fmt.Sprintf("agent:main:p%d", i), channel, i))
	}
	words := make([]string, 0, 2*len(tasks))
	for _, word := range slices.Sorted(maps.Keys(tasks)) {
		words = append(words, word, "do")
	}
	announces := []string{announceChannel, announceChannel, announceParent, announceParent, announceNone}
	l.next = func(tag string, rng *rand.Rand) call {
		parent := l.sessions[rng.IntN(parents)]
		c := &spawn{
			tag: tag, from: parent.Key, channel: parent.DeliveryContext.Channel, agent: "ops",
			task: words[rng.IntN(len(words))], announce: announces[rng.IntN(len(announces))],
		}
		c.deletes = c.announce != announceNone && rng.IntN(2) == 0
		return c
	}
	return l
}
