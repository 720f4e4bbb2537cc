package llmtest

import (
	"bytes"
	"io"
	"net/http"
	"testing"

	"example.org/parley"
	"example.org/parley/model"
)

// anything is a provider that answers with these bytes.
type anything []byte

func (s anything) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{
		StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"text/event-stream"}},
		Body: io.NopCloser(bytes.NewReader(s)), Request: r,
	}, nil
}

// AnyBytes fuzzes a wire whose provider may send anything: any stream of bytes is an answer that ends, or an error.
// open makes a model that uses the given client, which reaches no network.
func AnyBytes(f *testing.F, open func(*http.Client) (model.Model, error)) {
	f.Add([]byte("data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n\ndata: [DONE]\n\n"))
	f.Add(
		[]byte(
			"event: message_start\ndata: " +
				"{\"type\":\"message_start\",\"message\":{\"usage\":{\"input_tokens\":1}}}\n\n" +
				"event: content_block_start\ndata: " +
				"{\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\"}}\n\n",
		),
	)
	f.Add([]byte("data: {\"choices\":[{\"delta\":{\"content\":\"a\",\"annotations\":[{\"type\":\"url_citation\"," +
		"\"url_citation\":{\"url\":\"x:y\",\"start_index\":0,\"end_index\":9}}]}}]}\n\ndata: [DONE]\n\n"))
	f.Add(
		[]byte(
			"data: {\"type\":\"content_block_start\",\"index\":0," +
				"\"content_block\":{\"type\":\"text\",\"text\":\"a\"}}" +
				"\n\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"citations_delta\"," +
				"\"citation\":{\"cited_text\":\"b\",\"source\":\"c\"}}}\n\ndata: {\"type\":\"message_stop\"}\n\n",
		),
	)
	f.Fuzz(func(t *testing.T, raw []byte) {
		adapter, err := open(&http.Client{Transport: anything(raw)})
		if err != nil {
			t.Fatal(err)
		}
		ended, bytes, cited := 0, 0, 0
		for chunk, err := range adapter.Stream(t.Context(), model.EncodedRequest{}) {
			if ended > 0 {
				t.Fatalf("%q continues after its end", raw)
			}
			if err != nil || chunk.Kind == model.ChunkFinish {
				ended++
			}
			bytes += len(chunk.Text)
			if c := chunk.Citation; c != nil {
				if cited++; c.Start < 0 || c.End < c.Start || c.Size() > parley.MaxCitedBytes+parley.MaxTitleBytes+
					parley.MaxLinkBytes {
					t.Errorf("%q cites %+v", raw, c)
				}
			}
		}
		if ended != 1 || bytes > parley.MaxAnswerBytes || cited > parley.MaxCitations {
			t.Errorf("%q ends %d times with %d bytes and %d citations", raw, ended, bytes, cited)
		}
	})
}
