package bench

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"time"
)

// ModelName names a model of the fake provider: its answers have this many
// tokens, that far apart (0: as fast as the connection takes them).
func ModelName(tokens int, pace time.Duration) string {
	return fmt.Sprintf("bench-%d-%d", tokens, pace.Milliseconds())
}

// ToolModelName names a model that first calls the tool current_time, and answers
// with this many tokens once it has the result.
func ToolModelName(tokens int) string { return ModelName(tokens, 0) + "-tool" }

// DelegateModelName names a model that first hands a task to the agent works, and answers with this many tokens once
// it has the tool's result, and when the answer arrives.
func DelegateModelName(tokens int) string { return ModelName(tokens, 0) + "-delegate" }

// ObjectModelName names a model that answers with a JSON object of strings in this many tokens of about 20 bytes, and
// ProseModelName one that answers with the same bytes after a letter, which makes them a text.
func ObjectModelName(tokens int, pace time.Duration) string {
	return ModelName(tokens, pace) + "-object"
}

// ProseModelName is described at ObjectModelName.
func ProseModelName(tokens int, pace time.Duration) string { return ModelName(tokens, pace) + "-prose" }

// delegateArguments are the arguments with which such a model calls its tool.
const delegateArguments = `{"agent":"works","task":"Please write two hundred words about the sea."}`

// answered begins the message that brings an agent the answer to its task.
const answered = "Answer to your task"

const answerHead = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"

// ServeProvider answers Chat Completions requests on a listener until it is closed. It speaks just enough HTTP/1.1 to
// stay far cheaper than whatever is measured in front of it: it builds frames once per model and writes them whole.
func ServeProvider(listener net.Listener) error {
	for {
		conn, err := listener.Accept()
		if errors.Is(err, net.ErrClosed) {
			return nil
		}
		if err != nil {
			return err
		}
		go provide(conn) // ends when the peer closes its connection
	}
}

func provide(conn net.Conn) {
	defer conn.Close() //nolint:errcheck // the peer is gone or has everything
	reader := bufio.NewReaderSize(conn, 64<<10)
	cache := map[string][][]byte{}
	for {
		body, err := readRequest(reader)
		if err != nil {
			return
		}
		tokens, pace, kind := modelOf(body)
		calls := kind != "" && !bytes.Contains(body, []byte(`"role":"tool"`)) &&
			!bytes.Contains(body, []byte(answered))
		key := fmt.Sprint(tokens, pace, kind, calls)
		frames, ok := cache[key]
		if !ok {
			switch frames = answer(tokens, pace); {
			case kind == "object" || kind == "prose":
				frames = object(tokens, kind == "prose")
			case calls && kind == "delegate":
				frames = call("delegate_to_agent", delegateArguments)
			case calls:
				frames = call("current_time", `{"timezone":"UTC"}`)
			}
			cache[key] = frames
		}
		if _, err := io.WriteString(conn, answerHead); err != nil {
			return
		}
		next := time.Now()
		for i, frame := range frames {
			if pace > 0 && i > 0 {
				next = next.Add(pace)
				time.Sleep(time.Until(next))
			}
			if _, err := conn.Write(frame); err != nil {
				return
			}
		}
	}
}

// readRequest reads one request and returns its body.
func readRequest(reader *bufio.Reader) ([]byte, error) {
	length := 0
	for {
		line, err := reader.ReadSlice('\n')
		if err != nil {
			return nil, err
		}
		if len(line) <= 2 {
			break
		}
		if name, value, _ := strings.Cut(string(line), ":"); strings.EqualFold(name, "Content-Length") {
			if length, err = strconv.Atoi(strings.TrimSpace(value)); err != nil {
				return nil, err
			}
		}
	}
	body := make([]byte, length)
	_, err := io.ReadFull(reader, body)
	return body, err
}

func modelOf(body []byte) (tokens int, pace time.Duration, kind string) {
	_, rest, _ := bytes.Cut(body, []byte(`"bench-`))
	name, _, _ := bytes.Cut(rest, []byte(`"`))
	count, rate, _ := strings.Cut(string(name), "-")
	ms, kind, _ := strings.Cut(rate, "-")
	tokens, _ = strconv.Atoi(count) // a request for another model gets an empty answer
	wait, _ := strconv.Atoi(ms)     // as above
	return tokens, time.Duration(wait) * time.Millisecond, kind
}

// frame is one event of an answer.
func frame(delta, finish string) string {
	return `data: {"id":"chatcmpl-benchmark000000000000000000000","object":"chat.completion.chunk",` +
		`"created":1767225600,"model":"bench","system_fingerprint":null,"choices":[{"index":0,"delta":` +
		delta + `,"logprobs":null,"finish_reason":` + finish + `}]}` + "\n\n"
}

// chunk is a piece of a body on the wire.
func chunk(data string) string {
	return strconv.FormatInt(int64(len(data)), 16) + "\r\n" + data + "\r\n"
}

// usage ends an answer.
func usage(tokens int) string {
	return chunk(
		fmt.Sprintf(
			`data: {"id":"chatcmpl-benchmark000000000000000000000","object":"chat.completion.chunk",`+
				`"created":1767225600,"model":"bench","choices":[],"usage":{"prompt_tokens":20,`+
				`"completion_tokens":%d,"total_tokens":%d}}`+"\n\n",
			tokens,
			tokens+20,
		),
	) +
		chunk(
			"data: [DONE]\n\n",
		) + "0\r\n\r\n"
}

// call makes the answer that calls a tool, in one write.
func call(name, arguments string) [][]byte {
	begun := fmt.Sprintf(
		`{"role":"assistant","content":null,"tool_calls":[{"index":0,"id":"call_1","type":"function",`+
			`"function":{"name":%q,"arguments":""}}]}`,
		name,
	)
	wire := chunk(frame(begun, "null"))
	half := len(arguments) / 2
	for _, piece := range []string{arguments[:half], arguments[half:]} {
		wire += chunk(frame(fmt.Sprintf(`{"tool_calls":[{"index":0,"function":{"arguments":%q}}]}`, piece), "null"))
	}
	return [][]byte{[]byte(wire + chunk(frame(`{}`, `"tool_calls"`)) + usage(12))}
}

// itemTokens is how many tokens an item of an object has.
const itemTokens = 50

// object makes the writes of an answer that is an object, or its text behind a letter: one per token.
func object(tokens int, prose bool) [][]byte {
	var writes [][]byte
	for i := range tokens {
		text := fmt.Sprintf(" word%03d and word%03d", i%1000, (i+1)%1000)
		switch {
		case i == 0 && prose:
			text = `So {"items":["`
		case i == 0:
			text = `{"items":["`
		case i == tokens-1:
			text = `"]}`
		case i%itemTokens == 0:
			text = `","`
		}
		writes = append(writes, []byte(chunk(frame(fmt.Sprintf(`{"content":%q}`, text), "null"))))
	}
	return append(writes, []byte(chunk(frame(`{}`, `"stop"`))+usage(tokens)))
}

// writeSize is how much the provider sends at once when it does not pace itself: a handful of tokens, like a provider
// that outruns its connection. Far larger writes would spare the reference the reading and writing that it must do.
const writeSize = 512

// answer makes the writes of a whole answer: one per token when paced, else one
// per writeSize.
func answer(tokens int, pace time.Duration) [][]byte {
	var writes [][]byte
	for i := range tokens {
		delta := fmt.Sprintf(`{"content":" word%03d"}`, i%1000)
		if i == 0 {
			delta = `{"role":"assistant","content":"word000"}`
		}
		writes = append(writes, []byte(chunk(frame(delta, "null"))))
	}
	writes = append(writes, []byte(chunk(frame(`{}`, `"stop"`))+usage(tokens)))
	if pace > 0 {
		return writes
	}
	var few [][]byte
	for _, w := range writes {
		if n := len(few); n > 0 && len(few[n-1])+len(w) <= writeSize {
			few[n-1] = append(few[n-1], w...)
		} else {
			few = append(few, append(make([]byte, 0, writeSize), w...))
		}
	}
	return few
}

// Listen opens a loopback listener on a free port.
func Listen(ctx context.Context) (net.Listener, error) {
	return (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
}
