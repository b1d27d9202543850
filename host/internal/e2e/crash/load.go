package main

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"

	"github.com/parley-wasm/parley/abi"
)

// load is what clients call while their gateway is killed again and again.
type load struct {
	name     string // of what is accepted, in the plural
	kills    int
	sessions []*abi.Session // stored at first
	next     func(tag string, choose *rand.Rand) call
	bounded  bool // calls are refused while a session has enough children
}

const targets = 40

// sends are sends of one session to many others.
func sends(kills int) *load {
	l := &load{name: "messages", kills: kills, sessions: []*abi.Session{session(requester, "", 0)}}
	target := func(i int) string { return fmt.Sprintf("agent:ops:t%d", i) }
	for i := range targets {
		l.sessions = append(l.sessions, session(target(i), "webhook", i))
	}
	l.next = func(tag string, choose *rand.Rand) call {
		return &send{tag: tag, from: requester, to: target(choose.IntN(targets)), channel: "webhook"}
	}
	return l
}

// parents are how many sessions spawn.
const parents = 8

// spawns are spawns by several sessions, every fourth of which has no channel. Half of
// the children simply do their task.
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
	announces := []string{toChannel, toChannel, toParent, toParent, toNobody}
	l.next = func(tag string, choose *rand.Rand) call {
		parent := l.sessions[choose.IntN(parents)]
		c := &spawn{
			tag: tag, from: parent.Key, channel: parent.DeliveryContext.Channel, agent: "ops",
			task: words[choose.IntN(len(words))], announce: announces[choose.IntN(len(announces))],
		}
		c.deletes = c.announce != toNobody && choose.IntN(2) == 0
		return c
	}
	return l
}
