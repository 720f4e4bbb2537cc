package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"example.org/parley"
	"example.org/parley/model"
)

// What was recorded with a key is played without one, without the server, and the
// key is in no file.
func TestRecordedProvidersNeedNoKey(t *testing.T) {
	t.Parallel()
	const key = "sk-the-secret-of-this-test"
	var asked atomic.Int64
	provider := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		if r.Header.Get("Authorization") != "Bearer "+key {
			t.Error("the key did not arrive")
		}
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprintf(w, "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Hello, not %s.\"}}]}\n\n", key)
		fmt.Fprint(w, "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n")
	}))
	dir := t.TempDir()
	say := func(s settings, env map[string]string) (text string, failed error) {
		t.Helper()
		models, open, err := buildModels(s, func(name string) string { return env[name] })
		if err != nil {
			t.Fatal(err)
		}
		defer func() {
			for _, one := range open {
				one.Close()
			}
		}()
		adapter, _, err := models.Resolve("openai/gpt-5")
		if err != nil {
			t.Fatal(err)
		}
		encoded, err := adapter.Encode(model.Request{Model: "openai/gpt-5", Messages: []model.Message{
			{Role: model.RoleUser, Parts: []model.Part{{Kind: model.PartText, Text: "Hello?"}}}}})
		if err != nil {
			t.Fatal(err)
		}
		for chunk, err := range adapter.Stream(t.Context(), encoded) {
			if err != nil {
				return text, err
			}
			text += chunk.Text
		}
		return text, nil
	}
	live, err := say(settings{Record: dir}, map[string]string{"OPENAI_API_KEY": key, "OPENAI_BASE_URL": provider.URL})
	if err != nil || !strings.HasPrefix(live, "Hello, not ") {
		t.Fatalf("%q, %v", live, err)
	}
	provider.Close()
	played, err := say(settings{Replay: dir}, nil)
	if err != nil || played != "Hello, not [redacted]." || asked.Load() != 1 {
		t.Errorf("played %q, %v; asked %d times", played, err, asked.Load())
	}
	files, err := filepath.Glob(filepath.Join(dir, "openai", "gpt-5-*-1.jsonl"))
	if err != nil || len(files) != 1 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	if text, err := os.ReadFile(files[0]); err != nil || strings.Contains(string(text), key) {
		t.Errorf("the key is in the recording: %v\n%s", err, text)
	}
	both := settings{Record: dir, Replay: dir}
	if err := both.check(); parley.ErrorCode(err) != parley.CodeInvalid {
		t.Errorf("recording and playing at once: %v", err)
	}
}
