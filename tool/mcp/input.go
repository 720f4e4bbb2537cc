package mcp

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"example.org/parley"
	"example.org/parley/tool"
)

// Since 2026-07-28 a server that needs something in the middle of a call answers the call with what it needs, and with
// a state that only it can read; the client makes the call again with both. So nothing has to stay in memory while a
// person thinks, and any process can make the second call.

const (
	// maxRounds bounds how often a server may ask for more in one call.
	maxRounds = 16
	// maxInputs bounds what it asks for at once.
	maxInputs = 16
	// loadPause is the wait before a call is made again that a server has put off, and maxPutOff how often it may.
	loadPause = time.Second
	maxPutOff = 3
)

// inputState is what a call needs to go on; a question's State.
type inputState struct {
	State   string                     `json:"state,omitempty"` // the server's
	Asked   sdk.InputRequestMap        `json:"asked"`           // still to be answered by people
	Answers map[string]json.RawMessage `json:"answers"`         // so far
	Now     string                     `json:"now"`             // which one the person is asked
	Rounds  int                        `json:"rounds"`
}

// errAsks ends a call whose server asks for what it does not get.
var errAsks = errors.New("the server asks for something that this client does not have")

// errSamples ends a call whose server wants a model's answer: the workspace would pay for a prompt of the server's.
var errSamples = errors.New("the server asks for a model's answer (sampling), which Parley does not give")

// put adds what the server asks for to the state, and answers what needs no person.
func (s *inputState) put(asks *reply, call *tool.Call) error {
	s.Rounds++
	s.State, s.Asked, s.Answers = asks.state, sdk.InputRequestMap{}, map[string]json.RawMessage{}
	if s.Rounds > maxRounds || len(asks.asked) > maxInputs {
		return errors.New("the server asks for more and more")
	}
	for id, request := range asks.asked {
		switch asked := request.(type) {
		case *sdk.ElicitParams:
			s.Asked[id] = asked
		case *sdk.ListRootsParams: //nolint:staticcheck // servers still ask for roots
			raw, err := json.Marshal(roots(call.ProjectPath))
			if err != nil {
				return err
			}
			s.Answers[id] = raw
		case *sdk.CreateMessageWithToolsParams: //nolint:staticcheck // servers may still ask for it
			return errSamples
		default:
			return errAsks
		}
	}
	return nil
}

// rootsAnswer has the session's project, and nothing else.
type rootsAnswer struct {
	Roots []root `json:"roots"`
}

type root struct {
	Name string `json:"name"`
	URI  string `json:"uri"`
}

func roots(project string) rootsAnswer {
	list := rootsAnswer{Roots: []root{}}
	if project != "" {
		address := url.URL{Scheme: "file", Path: filepath.ToSlash(project)}
		list.Roots = append(list.Roots, root{filepath.Base(project), address.String()})
	}
	return list
}

// next returns the question that a person must answer next; nil if there is none.
func (s *inputState) next(server *Server) (*tool.Question, error) {
	if len(s.Asked) == 0 {
		return nil, nil
	}
	ids := make([]string, 0, len(s.Asked))
	for id := range s.Asked {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	s.Now = ids[0]
	asked, ok := s.Asked[s.Now].(*sdk.ElicitParams)
	if !ok {
		return nil, errAsks
	}
	question := &tool.Question{ToolQuestion: parley.ToolQuestion{
		Message: parley.Clip(withoutNUL(cmp.Or(asked.Message, "The tool server "+server.Name+" asks for an answer.")),
			maxDescriptionBytes),
	}}
	if asked.URL != "" || asked.Mode == "url" {
		u, err := url.Parse(asked.URL)
		if err != nil || u.Scheme != "https" && u.Scheme != "http" || len(asked.URL) > parley.MaxLinkBytes {
			return nil, errors.New("the server sends people to an address that is none")
		}
		question.URL = asked.URL
	} else {
		schema := noArguments
		if asked.RequestedSchema != nil {
			raw, err := json.Marshal(asked.RequestedSchema)
			if err == nil {
				err = parley.CheckJSONBounds(raw)
			}
			if err != nil || len(raw) > parley.MaxToolQuestion {
				return nil, errors.New("the server asks for an answer of a form that cannot be shown")
			}
			schema = raw
		}
		question.Schema = &schema
	}
	var err error
	question.State, err = json.Marshal(s)
	return question, err
}

// answered adds a person's answer.
func (s *inputState) answered(answer *tool.Answer) error {
	result := &sdk.ElicitResult{Action: string(answer.Action)}
	if answer.Action == tool.AnswerAccept && answer.Content != nil {
		if err := json.Unmarshal(answer.Content, &result.Content); err != nil {
			return err
		}
	}
	raw, err := json.Marshal(result)
	s.Answers[s.Now] = raw
	delete(s.Asked, s.Now)
	return err
}

// fill puts what the server asked for into the next call.
func (s *inputState) fill(params *sdk.CallToolParams) error {
	raw, err := json.Marshal(s.Answers)
	if err != nil {
		return err
	}
	params.RequestState, params.InputResponses = s.State, sdk.InputResponseMap{}
	return json.Unmarshal(raw, &params.InputResponses)
}

// converse makes a call as far as it goes without a person: until there is a result, or a question to one.
func (l *link) converse(
	ctx context.Context,
	send request,
	name string,
	call tool.Call,
) (*sdk.CallToolResult, *tool.Question, error) {
	var state *inputState
	if call.Answer != nil {
		state = &inputState{}
		err := json.Unmarshal(call.Answer.State, state)
		if err == nil {
			err = state.answered(call.Answer)
		}
		if err != nil {
			return nil, nil, parley.WrapError(parley.CodeInternal, err, "What the tool server asked cannot be read.")
		}
		if question, err := state.next(&l.server); question != nil || err != nil {
			return nil, question, err
		}
	}
	for putOff := 0; ; {
		got, err := l.call(ctx, send, name, call, state)
		if err != nil || !got.needs {
			return got.result, nil, err
		}
		if state == nil {
			state = &inputState{}
		}
		if err := state.put(&got, &call); err != nil {
			return nil, nil, l.asksTooMuch(err)
		}
		question, err := state.next(&l.server)
		if err != nil {
			return nil, nil, l.asksTooMuch(err)
		}
		if question != nil {
			return nil, question, nil
		}
		if len(got.asked) > 0 {
			continue
		}
		if putOff++; putOff > maxPutOff {
			return nil, nil, parley.Errorf(
				parley.CodeUnavailable,
				"The tool server %s puts the call off, %s times so far.",
				quoted(l.server.Name),
				strconv.Itoa(putOff),
			)
		}
		timer := time.NewTimer(loadPause)
		select {
		case <-ctx.Done():
			timer.Stop()
			return nil, nil, ctx.Err()
		case <-timer.C:
		}
	}
}

func (l *link) asksTooMuch(err error) error {
	return parley.WrapError(parley.CodeConflict, err, fmt.Sprintf(
		"The tool server %s did not finish the call: %s.", quoted(l.server.Name), err))
}
