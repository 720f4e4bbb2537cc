package attack

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"example.org/parley"
)

// A misdeed is a provider's hostile response. It ends with the request.
type misdeed func(w http.ResponseWriter, r *http.Request)

// raw responds with arbitrary bytes, including the status line.
func raw(write func(ctx context.Context, to net.Conn)) misdeed {
	return func(w http.ResponseWriter, r *http.Request) {
		to, _, err := w.(http.Hijacker).Hijack() //nolint:forcetypeassert // a server of HTTP/1.1
		if err != nil {
			return
		}
		defer to.Close()
		_ = to.SetDeadline(time.Now().Add(settleDeadline))
		write(r.Context(), to)
	}
}

// says responds 200 with events.
func says(events ...string) misdeed {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for _, event := range events {
			if _, err := io.WriteString(w, "data: "+event+"\n\n"); err != nil {
				return
			}
		}
	}
}

// chunk is an event of Chat Completions.
func chunk(delta, finish string) string {
	return fmt.Sprintf(
		`{"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":%s,`+
			`"finish_reason":%s}]}`,
		delta,
		finish,
	)
}

// calling responds with one tool call.
func calling(fields string) misdeed {
	return says(chunk(`{"tool_calls":[{`+fields+`}]}`, "null"), chunk(`{}`, `"tool_calls"`), "[DONE]")
}

func named(name, arguments, id string) misdeed {
	encode := func(text string) string {
		out, _ := json.Marshal(text) // a string
		return string(out)
	}
	return calling(
		fmt.Sprintf(
			`"index":0,"id":%s,"type":"function","function":{"name":%s,"arguments":%s}`,
			encode(id),
			encode(name),
			encode(arguments),
		),
	)
}

func using(usage string) misdeed {
	return says(
		chunk(`{"content":"x"}`, `"stop"`),
		`{"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":[],"usage":`+usage+`}`,
		"[DONE]",
	)
}

// forever repeats a text at an interval until nobody listens.
func forever(text string, every time.Duration) misdeed {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		out := http.NewResponseController(w)
		for r.Context().Err() == nil {
			if _, err := io.WriteString(w, text); err != nil || out.Flush() != nil {
				return
			}
			if every > 0 {
				select {
				case <-time.After(every):
				case <-r.Context().Done():
				}
			}
		}
	}
}

const someMegabytes = 4 << 20

// misdeeds of providers, by provider name.
func misdeeds(stolen *atomic.Int64, elsewhere string) map[string]misdeed {
	long := strings.Repeat("x", someMegabytes)
	noise := make([]byte, 64<<10)
	random := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // the same garbage each time
	for i := range noise {
		noise[i] = byte(random.Uint32())
	}
	var bomb bytes.Buffer
	packed := gzip.NewWriter(&bomb)
	_, _ = io.CopyN(packed, zeros{}, 256<<20) // to memory
	_ = packed.Close()
	status := func(code int, header, body string) misdeed {
		return func(w http.ResponseWriter, r *http.Request) {
			if name, value, ok := strings.Cut(header, ": "); ok {
				w.Header().Set(name, value)
			}
			w.WriteHeader(code)
			_, _ = fmt.Fprintf(w, body, r.Header.Get("Authorization")+r.Header.Get("X-Api-Key"))
		}
	}
	return map[string]misdeed{
		"noise":         func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(noise) },
		"noise-events":  says(string(noise)),
		"no-http":       raw(func(_ context.Context, to net.Conn) { _, _ = to.Write(noise) }),
		"close":         raw(func(context.Context, net.Conn) {}),
		"one-line":      forever("data: "+long, 0),
		"long-lines":    forever("data: "+chunk(`{"content":"`+long+`"}`, "null")+"\n\n", 0),
		"empty-events":  forever("data: {}\n\n", 0),
		"flood":         forever("data: "+chunk(`{"content":"flood "}`, "null")+"\n\n", 0),
		"trickle":       forever("data: "+chunk(`{"content":"drop "}`, "null")+"\n\n", 50*time.Millisecond),
		"comments":      forever(": still thinking\n\n", 20*time.Millisecond),
		"silence":       func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() },
		"headers":       raw(endlessHeaders),
		"informational": raw(endlessContinues),
		"json": status(
			http.StatusOK,
			"Content-Type: application/json",
			`{"choices":[{"message":{"role":"assistant","content":"%s"}}]}`,
		),
		"json-error": status(
			http.StatusOK,
			"Content-Type: application/json",
			`{"error":{"message":"the key %s is wrong"}}`,
		),
		"echo-key": status(http.StatusUnauthorized, "", `{"error":{"message":"the key %s is wrong"}}`),
		"echo-html": status(
			http.StatusInternalServerError,
			"Content-Type: text/html",
			`<script>alert("%s")</script>`,
		),
		"strange":     status(999, "", "%s"),
		"after-ages":  status(http.StatusTooManyRequests, "Retry-After: 99999999999999999999", "%s"),
		"after-never": status(http.StatusServiceUnavailable, "Retry-After: -1e309", "%s"),
		"redirect": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, elsewhere, http.StatusTemporaryRedirect)
		},
		"bomb": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = w.Write(bomb.Bytes())
		},
		"half": raw(func(_ context.Context, to net.Conn) {
			_, _ = io.WriteString(
				to,
				"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: 100000\r\n\r\ndata: "+
					chunk(`{"content":"half an"}`, "null")[:40],
			)
		}),
		"half-call": says(
			chunk(
				`{"tool_calls":[{"index":0,"id":"c","type":"function","function":{"name":"current_time",`+
					`"arguments":"{\"a"}}]}`,
				"null",
			),
		),
		"deep": says(strings.Repeat(`{"choices":[`, 50_000)),
		"usage-huge": using(
			`{"prompt_tokens":9223372036854775807,"completion_tokens":9223372036854775807,"total_tokens":1}`,
		),
		"usage-beyond":  using(`{"prompt_tokens":1e308,"completion_tokens":-5,"total_tokens":"many"}`),
		"usage-strange": using(`[{"prompt_tokens":{}}]`),
		"call-control":  named("current\x00_time\x1b[2J\u202e", `{}`, "call\n1"),
		"call-nameless": named("", `{}`, ""),
		"call-long":     named(strings.Repeat("n", 1<<20), `{}`, strings.Repeat("i", 1<<20)),
		"call-deep":     named("current_time", strings.Repeat(`{"a":`, 10_000)+"1"+strings.Repeat("}", 10_000), "c"),
		"call-noise":    named("current_time", `{"timezone":"\ud800","timezone":"\u0000"`, "c"),
		"call-numbers":  named("current_time", `{"timezone":1e999999999}`, "c"),
		"call-index":    calling(`"index":-1,"id":"c","function":{"name":"current_time","arguments":"{}"}`),
		"call-far": calling(
			`"index":9007199254740993,"id":"c","function":{"name":"current_time","arguments":"{}"}`,
		),
		"call-many": says(
			chunk(
				`{"tool_calls":[`+strings.TrimSuffix(
					strings.Repeat(
						`{"index":0,"id":"c","type":"function","function":{"name":"current_time","arguments":"{}"}},`,
						2000,
					),
					",",
				)+`]}`,
				"null",
			),
			chunk(`{}`, `"tool_calls"`),
			"[DONE]",
		),
		"blocks": func(w http.ResponseWriter, _ *http.Request) { // of the other wire, out of order
			w.Header().Set("Content-Type", "text/event-stream")
			for _, event := range []string{
				`{"type":"content_block_delta","index":7,"delta":{"type":"text_delta","text":"x"}}`,
				`{"type":"message_start","message":{"id":"m","usage":{"input_tokens":-1}}}`,
				`{"type":"message_start","message":{"id":"m"}}`,
				`{"type":"content_block_start","index":-3,"content_block":{"type":"tool_use","id":"","name":"\u0000",` +
					`"input":[[]]}}`,
				`{"type":"content_block_delta","index":-3,"delta":{"type":"input_json_delta","partial_json":"{{{"}}`,
				`{"type":"message_delta","delta":{"stop_reason":["x"]},"usage":{"output_tokens":1e400}}`,
				`{"type":"message_stop"}`,
			} {
				_, _ = fmt.Fprintf(w, "event: content_block_delta\ndata: %s\n\n", event)
			}
		},
		"elsewhere": func(_ http.ResponseWriter, r *http.Request) {
			if strings.Contains(fmt.Sprint(r.Header), secret) {
				stolen.Add(1)
			}
		},
	}
}

// zeros never end.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

func endlessHeaders(ctx context.Context, to net.Conn) {
	_, err := io.WriteString(to, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n")
	for i := 0; err == nil && ctx.Err() == nil; i++ {
		_, err = fmt.Fprintf(to, "X-Header-%d: %s\r\n", i, strings.Repeat("x", 512))
	}
}

func endlessContinues(ctx context.Context, to net.Conn) {
	var err error
	for err == nil && ctx.Err() == nil {
		_, err = io.WriteString(to, "HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n")
	}
}

// Whatever a provider responds, on either wire: the process lives, the turn ends, the record
// verifies, and the credential is sent to nobody and stored nowhere.
func TestHostileProviders(t *testing.T) {
	t.Parallel()
	for database, url := range map[string]func(testing.TB) string{"SQLite": func(testing.TB) string {
		return ""
	}, "PostgreSQL": databases.New} {
		t.Run(database, func(t *testing.T) {
			t.Parallel()
			hostileProviders(t, url(t))
		})
	}
}

func hostileProviders(t *testing.T, database string) {
	var stolen atomic.Int64
	other := httptest.NewServer(
		http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { misdeeds(&stolen, "")["elsewhere"](w, r) }),
	)
	defer other.Close()
	all := misdeeds(&stolen, other.URL)
	delete(all, "elsewhere")
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		name := strings.Split(r.URL.Path, "/")[1]
		all[name](w, r)
	}))
	defer server.Close()
	defer server.CloseClientConnections()
	var providers []map[string]any
	for name := range all {
		for _, kind := range []string{"openai", "anthropic"} {
			providers = append(
				providers,
				map[string]any{
					"name":     kind + "-" + name,
					"kind":     kind,
					"base_url": server.URL + "/" + name + "/v1",
					"key_env":  secretName,
				},
			)
		}
	}
	s := serve(t, database, map[string]any{"providers": providers, "workers": 2 * len(providers)})
	key := s.key("one", "owner", "member")
	sessions := map[string]string{}
	for _, provider := range providers {
		name := fmt.Sprint(provider["name"])
		sessions[name] = s.send(key, name+"/m", `["current_time"]`, "hello")
	}
	ends := map[parley.TurnStatus]int{}
	for name, session := range sessions {
		status, _ := s.outcome(key, session, name)
		ends[status]++
	}
	t.Logf("%d turns ended: %v", len(sessions), ends)
	if ends[parley.TurnFailed] < len(sessions)/3 {
		t.Errorf("only %d of %d turns failed: are the providers hostile?", ends[parley.TurnFailed], len(sessions))
	}
	if stolen.Load() > 0 {
		t.Error("a redirect took the credential along")
	}
	s.survived(key)
}
