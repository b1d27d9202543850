package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/rogpeppe/go-internal/testscript"
)

func post(ts *testscript.TestScript, neg bool, args []string) {
	need(ts, neg, args, 3, "post PATH STATUS BODY, or @FILE")
	body := args[2]
	if file, ok := strings.CutPrefix(body, "@"); ok {
		body = ts.ReadFile(file)
	}
	req, err := http.NewRequest(http.MethodPost, ts.Getenv("URL")+args[0], strings.NewReader(body))
	ts.Check(err)
	req.Header.Set("Authorization", "Bearer "+ts.Getenv("TOKEN"))
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	ts.Check(err)
	defer resp.Body.Close()
	_, err = io.Copy(ts.Stdout(), resp.Body)
	ts.Check(err)
	if strconv.Itoa(resp.StatusCode) != args[1] {
		ts.Fatalf("status is %s, want %s", resp.Status, args[1])
	}
}

// webhook is the server to which deliveries are posted.
type webhook struct {
	status atomic.Int64
	posts  chan string
}

type webhookKey struct{}

// setWebhook sets the status of the webhook's responses.
func setWebhook(ts *testscript.TestScript, neg bool, args []string) {
	need(ts, neg, args, 1, "webhook STATUS")
	status, err := strconv.ParseInt(args[0], 10, 64)
	ts.Check(err)
	h, ok := ts.Value(webhookKey{}).(*webhook)
	if !ok {
		ts.Fatalf("no webhook is running")
	}
	h.status.Store(status)
}

// startWebhook starts the webhook of a script.
func startWebhook(e *testscript.Env) {
	h := &webhook{posts: make(chan string, 64)}
	h.status.Store(http.StatusOK)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.WriteHeader(int(h.status.Load()))
		h.posts <- string(body)
	}))
	e.Defer(s.Close)
	e.Setenv("HOOK", s.URL)
	e.Values[webhookKey{}] = h
}

// posted waits for a post to the webhook that matches.
func posted(ts *testscript.TestScript, neg bool, args []string) {
	need(ts, neg, args, 1, "posted REGEXP")
	want := regexp.MustCompile(args[0])
	for body := range ts.Value(webhookKey{}).(*webhook).posts {
		if want.MatchString(body) {
			return
		}
		ts.Logf("%s", body)
	}
}
