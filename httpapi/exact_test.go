package httpapi

import (
	"bytes"
	"testing"

	"example.org/parley"
	"example.org/parley/engine"
	"example.org/parley/llm"
	"example.org/parley/llm/sim"
	"example.org/parley/model"
)

// roomy is a wire whose requests have white space in them, as those have that give a
// provider its own tool calls back.
type roomy struct{ model.Model }

func (r roomy) Encode(request model.Request) (model.EncodedRequest, error) {
	encoded, err := r.Model.Encode(request)
	return spaced(encoded), err
}

func (r roomy) EncodeAs(version int, request model.Request) (model.EncodedRequest, error) {
	encoded, err := r.Model.EncodeAs(version, request)
	return spaced(encoded), err
}

func spaced(encoded model.EncodedRequest) model.EncodedRequest {
	encoded.Body = append([]byte("{ \n\t"), encoded.Body[1:]...)
	return encoded
}

// A request is shown byte for byte, white space and all: what is hashed is what the
// answer holds, and spans count its bytes.
func TestRequestsAreShownToTheByte(t *testing.T) {
	t.Parallel()
	models := func(*testing.T) *llm.Registry {
		models, err := llm.NewRegistry(
			llm.Options{
				Providers: []llm.Provider{
					{Name: "sim", Model: roomy{sim.New()}, DefaultModel: "echo", Models: sim.Models(), Simulator: true},
				},
			},
		)
		if err != nil {
			t.Fatal(err)
		}
		return models
	}
	s := startServerWith(t, models)
	session := s.session(`{"model":"sim/echo"}`).ID.String()
	shown := want[engine.Preview](
		s,
		200,
		"POST",
		"/v1/sessions/"+session+"/preview",
		`{"content":{"text":"Over here."}}`,
	)
	s.told(session, `{"content":{"text":"Over here."}}`)
	call := s.lastCall(session)
	if !call.Exact || parley.HashOf(call.Request) != call.RequestHash || !bytes.Equal(call.Request, shown.Request) {
		t.Errorf("previewed\n%s\nsent\n%s", shown.Request, call.Request)
	}
	now := want[engine.Preview](s, 200, "GET", "/v1/sessions/"+session+"/context", "")
	if !bytes.HasPrefix(now.Request, []byte("{ \n\t")) {
		t.Errorf("the context has the request\n%s", now.Request)
	}
	found := false
	for _, p := range call.Parts {
		if p.Span != nil &&
			bytes.Contains(call.Request[p.Span.Offset:p.Span.Offset+p.Span.Length], []byte("Over here.")) {
			found = true
		}
	}
	if !found {
		t.Errorf("no part lies where the message is: %+v", call.Parts)
	}
}
