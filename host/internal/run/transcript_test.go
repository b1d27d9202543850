package run_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/host/runner"
	"github.com/parley-wasm/parley/host/store"
)

func said(text string) json.RawMessage {
	return fmt.Appendf(nil, `{"role":"assistant","content":%q,"timestamp":7}`, text)
}

func joined(messages []json.RawMessage) string {
	texts := []string{}
	for _, m := range messages {
		var doc struct {
			Content any
		}
		if err := json.Unmarshal(m, &doc); err != nil {
			return err.Error()
		}
		text, ok := doc.Content.(string)
		if !ok {
			text = doc.Content.([]any)[0].(map[string]any)["text"].(string)
		}
		texts = append(texts, text[:min(len(text), 20)])
	}
	return strings.Join(texts, ",")
}

// History returns the session's messages without those of the attempt's own run. Run
// returns the messages that earlier attempts appended.
func TestTranscript(t *testing.T) {
	const n = 1200 // more than one page
	began := make(chan string, 1)
	long := strings.Repeat("x", abi.MaxString+100)
	first := newFixture(t, runnerFunc(func(ctx context.Context, turn *runner.Turn) (*runner.Outcome, error) {
		if err := turn.Transcript.Append(ctx, said("one"), json.RawMessage(` {"role":"toolResult","content":"two","content":"`+"two"+`"}`)); err != nil {
			return nil, err
		}
		if err := turn.Transcript.Append(ctx, said(long)); err != nil {
			return nil, err
		}
		if err := turn.Transcript.Append(ctx, said("three"), json.RawMessage(`[]`)); err == nil {
			t.Error("an invalid message was appended")
		}
		return blocking(began)(ctx, turn)
	}))
	first.makeFaulty()
	first.session("a")
	first.update(func(tx store.Tx) error {
		for i := range n {
			if err := tx.Append(key("a"), &store.Message{Role: "user", At: 1, JSON: said(fmt.Sprint("m", i))}); err != nil {
				return err
			}
		}
		return tx.Append(key("a"), &store.Message{Role: "assistant", At: 1, JSON: said("one")}) // equal to one of the run's own, but older
	})
	first.queue("r1", "a")
	first.start()
	<-began
	first.kill()

	asked := false
	r := first.next(runnerFunc(func(ctx context.Context, turn *runner.Turn) (*runner.Outcome, error) {
		asked = true
		own, err := turn.Transcript.Run(ctx)
		if err != nil {
			return nil, err
		}
		if got, want := joined(own), "one,two,"+long[:20]; got != want {
			t.Errorf("Run: %s, want %s", got, want)
		}
		for _, c := range []struct {
			messages, bytes int
			want            string
		}{
			{3, 1 << 20, "m1198,m1199,one"},
			{50, len(said("m1199")) + len(said("one")), "m1199,one"},
			{50, len(said("m1199")) + len(said("one")) - 1, "one"},
			{0, 1 << 20, ""},
			{5, 0, ""},
		} {
			history, err := turn.Transcript.History(ctx, c.messages, c.bytes)
			if err != nil {
				return nil, err
			}
			if got := joined(history); got != c.want {
				t.Errorf("History(%d, %d): %s, want %s", c.messages, c.bytes, got, c.want)
			}
		}
		history, err := turn.Transcript.History(ctx, 2*n, 1<<20)
		if err != nil {
			return nil, err
		}
		if len(history) != n+1 || joined(history[:2]) != "m0,m1" {
			t.Errorf("History of all: %d messages, %s first", len(history), joined(history[:2]))
		}
		return &runner.Outcome{Text: "ok"}, nil
	})).start()
	r.ends("r1", abi.RunDone, "ok")
	if !asked {
		t.Error("there was no second attempt")
	}
	rows := view(r, func(v store.View) ([][]byte, error) { return v.RunMessages(context.Background(), "r1") })
	if len(rows) != 5 {
		t.Errorf("the run has stored %d messages, want 5", len(rows))
	}
}
