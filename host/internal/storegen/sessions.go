package storegen

import (
	"fmt"
	"math/rand/v2"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/abi/sessionkey"
)

var (
	agents   = []string{"main", "main", "main", "research", "research", "support"}
	channels = []string{"discord", "slack", "telegram", "whatsapp", "signal"}
	models   = []string{"small", "large", "large-thinking"}
	topics   = []string{"builds", "incidents", "travel", "garden", "invoices", "reading list", "home network", "thesis", "music", "support queue"}
)

// session generates the i-th ordinary session. The first sessions have the rare
// properties; in lists these sessions are spread among all others.
func (g *generator) session(i int) abi.Session {
	r := g.random(i)
	s := abi.Session{
		AgentID: agents[r.IntN(len(agents))], Model: models[r.IntN(len(models))],
		ContextTokens: int64Ptr(200_000), TotalTokens: int64Ptr(r.Int64N(150_000)),
		SystemSent: truePtr(), AbortedLastRun: new(bool), ThinkingLevel: "low",
	}
	channel, topic := channels[r.IntN(len(channels))], topics[r.IntN(len(topics))]
	rest := ""
	switch few := (i - 1) / RareSessions; {
	case i == 0:
		s.AgentID, rest = "main", "main"
		direct(&s, channel, i)
	case few == 0:
		rest = fmt.Sprintf("cron:job-%d", i)
	case few == 1:
		rest = "hook:" + uuid(r)
	case few == 2:
		s.AgentID = RareAgent
		rest = fmt.Sprintf("telegram:rare-%d", i)
		direct(&s, "telegram", i)
	case few == 3:
		rest = fmt.Sprintf("slack:group:train-%d", i)
		group(&s, "slack", i, "trains")
		s.Label = RareLabel
	case few == 4:
		rest = "subagent:" + uuid(r)
		s.SpawnedBy, s.Label, s.Status = MainKey, "look up "+topic, "done"
	case i%10 < 5:
		rest = fmt.Sprintf("%s:group:%d", channel, i)
		group(&s, channel, i, topic)
	case i%10 < 8:
		rest = fmt.Sprintf("%s:peer-%d", channel, i)
		direct(&s, channel, i)
	default:
		rest = "subagent:" + uuid(r)
		s.SpawnedBy = fmt.Sprintf("agent:%s:%s:peer-%d", s.AgentID, channel, i-1)
		s.Label, s.Status = "work on "+topic, "done"
	}
	s.Key = sessionkey.Join(s.AgentID, rest)
	g.finish(&s, r, i)
	return s
}

// finish sets the fields that every session has. The sessions with RareLabel are the
// recent ones. Every second session without a rare property is archived.
func (g *generator) finish(s *abi.Session, r *rand.Rand, i int) {
	s.Kind = sessionkey.Kind(s.Key)
	s.SessionID = uuid(r)
	now, hour := g.Now.UnixMilli(), int64(3_600_000)
	s.UpdatedAt = now - hour - r.Int64N(90*24*hour)
	if s.Label == RareLabel {
		s.UpdatedAt = now - int64(i)*1000
	}
	if i > 5*RareSessions && i%2 == 0 {
		s.ArchivedAt = s.UpdatedAt + hour/2
	}
}

// specialSession generates the session of the long or the large transcript.
func (g *generator) specialSession(key string) abi.Session {
	s := abi.Session{Key: key, AgentID: "main", Model: "large", TotalTokens: int64Ptr(190_000)}
	group(&s, "discord", 0, "archive")
	g.finish(&s, g.random(-3), 1)
	return s
}

func group(s *abi.Session, channel string, i int, topic string) {
	s.ChatType, s.Channel, s.DisplayName, s.Subject = "group", channel, channel+"#"+topic, "All about "+topic
	s.DeliveryContext = abi.Target{Channel: channel, To: fmt.Sprintf("channel:%d", i), AccountID: "default"}
	s.LastChannel, s.LastTo, s.LastAccountID = channel, s.DeliveryContext.To, "default"
}

func direct(s *abi.Session, channel string, i int) {
	s.ChatType, s.LastChannel, s.LastTo = "direct", channel, fmt.Sprintf("peer-%d", i)
	s.DeliveryContext = abi.Target{Channel: channel, To: s.LastTo}
}

func uuid(r *rand.Rand) string {
	a, b := r.Uint64(), r.Uint64()
	return fmt.Sprintf("%08x-%04x-4%03x-8%03x-%012x", uint32(a>>32), uint16(a>>16), a&0xfff, b>>48&0xfff, b&0xffffffffffff)
}

func int64Ptr(n int64) *int64 { return &n }

func truePtr() *bool { b := true; return &b }
