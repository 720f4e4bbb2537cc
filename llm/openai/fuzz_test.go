package openai_test

import (
	"bytes"
	"io"
	"net/http"
	"testing"

	"parley"
	"parley/llm/openai"
)

// said is a provider that answers with these bytes.
type said []byte

func (s said) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{
		StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"text/event-stream"}},
		Body: io.NopCloser(bytes.NewReader(s)), Request: r,
	}, nil
}

// FuzzAnswer: any stream of bytes is an answer that ends, or an error.
func FuzzAnswer(f *testing.F) {
	f.Add([]byte("data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n\ndata: [DONE]\n\n"))
	f.Add([]byte("event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"usage\":{\"input_tokens\":1}}}\n\nevent: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\"}}\n\n"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		model, err := openai.New(openai.Options{BaseURL: "http://provider.test/v1", HTTPClient: &http.Client{Transport: said(raw)}})
		if err != nil {
			t.Fatal(err)
		}
		ended, bytes := 0, 0
		for chunk, err := range model.Stream(t.Context(), parley.EncodedRequest{}) {
			if ended > 0 {
				t.Fatalf("%q goes on behind its end", raw)
			}
			if err != nil || chunk.Kind == parley.ChunkFinish {
				ended++
			}
			bytes += len(chunk.Text)
		}
		if ended != 1 || bytes > parley.MaxAnswerBytes {
			t.Errorf("%q ends %d times with %d bytes", raw, ended, bytes)
		}
	})
}
