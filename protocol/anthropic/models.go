package anthropic

import (
	"strconv"
	"time"

	"example.org/parley"
	"example.org/parley/engine"
	"example.org/parley/protocol"
)

// The bounds of lists of models.
const (
	maxModels   = 10 * parley.MaxPage // agents
	defaultPage = 20
	largestPage = 1000
)

// imageTokens is what counts for an image or a file: the most that the vendor's models take for one.
const imageTokens = 1600

// listedModel is a model that a client may name, in the protocol's shape.
type listedModel struct {
	ID           string  `json:"id"`
	Type         string  `json:"type"`
	Name         string  `json:"display_name"`
	Created      string  `json:"created_at"`
	Lifecycle    string  `json:"lifecycle"`
	Capabilities *string `json:"capabilities"`
	Deprecated   *string `json:"deprecated_at"`
	Line         *string `json:"line"`
	MaxInput     *int    `json:"max_input_tokens"`
	MaxTokens    *int    `json:"max_tokens"`
	Retires      *string `json:"retires_at"`
}

func newModel(id, name string, created time.Time) listedModel {
	return listedModel{
		ID: id, Type: "model", Name: name, Created: created.UTC().Format(time.RFC3339), Lifecycle: "active",
	}
}

func registryModel(id parley.ModelID) listedModel {
	return newModel(string(id), string(id), time.Unix(0, 0))
}

func agentModel(agent *parley.Agent) listedModel {
	return newModel(agent.Slug, agent.Name, agent.CreatedAt.Std())
}

// models lists the agents by slug, then the models of the registry.
func (a *api) models(x *protocol.Exchange) error {
	ctx := x.R.Context()
	list := []listedModel{}
	paging := engine.Paging{Limit: parley.MaxPage}
	for more := true; more; {
		page, err := a.engine.Agents(ctx, x.Principal, engine.AgentList{Paging: paging})
		if err != nil {
			return err
		}
		for i := range page.Data {
			list = append(list, agentModel(&page.Data[i]))
		}
		if more = page.Next != nil && len(list) < maxModels; more {
			paging.Cursor = *page.Next
		}
	}
	paging.Cursor = ""
	known, err := a.engine.Models(ctx, x.Principal, paging)
	if err != nil {
		return err
	}
	for i := range known.Data {
		list = append(list, registryModel(known.Data[i].ID))
	}
	page, err := pageOf(list, x.R.URL.Query().Get)
	if err != nil {
		return err
	}
	return send(x, page)
}

// modelPage is a page of models.
type modelPage struct {
	Data    []listedModel `json:"data"`
	HasMore bool          `json:"has_more"`
	First   *string       `json:"first_id"`
	Last    *string       `json:"last_id"`
}

// pageOf cuts a page out of a list, as a query says.
func pageOf(list []listedModel, query func(string) string) (p modelPage, err error) {
	limit := defaultPage
	if text := query("limit"); text != "" {
		if limit, err = strconv.Atoi(text); err != nil || limit < 1 || limit > largestPage {
			return p, parley.InvalidField("limit", "must be from 1 to %d", largestPage)
		}
	}
	from, to := 0, len(list)
	after, before := query("after_id"), query("before_id")
	for i := range list {
		if list[i].ID == after {
			from = i + 1
		}
		if list[i].ID == before {
			to = i
		}
	}
	list = list[min(from, to):to]
	if p.HasMore = len(list) > limit; p.HasMore {
		if before != "" && after == "" {
			list = list[len(list)-limit:]
		} else {
			list = list[:limit]
		}
	}
	if p.Data = list; len(list) > 0 {
		p.First, p.Last = &list[0].ID, &list[len(list)-1].ID
	}
	return p, nil
}

// model reads one.
func (a *api) model(x *protocol.Exchange) error {
	agent, model, err := a.asked(x.R.Context(), x.Principal, x.R.PathValue("model"))
	switch {
	case err != nil:
		return err
	case model != "":
		return send(x, registryModel(model))
	}
	return send(x, agentModel(&agent))
}

// count estimates the tokens of a request: of all that it sends, and of the agent's prompt and tools.
func (a *api) count(x *protocol.Exchange) error {
	ctx := x.R.Context()
	r, err := decode(x.Body)
	if err != nil {
		return err
	}
	instructions, said, err := r.split()
	if err != nil {
		return err
	}
	agent, model, err := a.asked(ctx, x.Principal, r.Model)
	if err == nil && model != "" {
		if agent, err = a.engine.Agent(ctx, x.Principal, plain().Slug); parley.ErrorCode(err) == parley.CodeNotFound {
			err = nil // nobody has asked it yet: it has neither prompt nor tools
		}
	}
	if err != nil {
		return err
	}
	s, _, err := r.settings(&agent, model, instructions)
	if err != nil {
		return err
	}
	if s.SystemPrompt == nil {
		s.SystemPrompt = agent.SystemPrompt
	}
	tokens := parley.EstimateTokens(parley.ValueOf(s.SystemPrompt))
	tools := s.Tools
	if tools == nil {
		tools = agent.Tools
	}
	for _, ref := range parley.ValueOf(tools) {
		tokens += parley.EstimateTokens(ref.Name)
		if d := ref.Definition; d != nil {
			tokens += parley.EstimateTokens(d.Description) + parley.EstimateTokens(d.Parameters)
		}
	}
	for i := range said {
		m := &said[i]
		tokens += parley.EstimateTokens(m.Text) + parley.EstimateTokens(m.Reasoning)
		for j := range m.Parts {
			if m.Parts[j].Data != "" || m.Parts[j].Link != "" {
				tokens += imageTokens
			}
		}
		for j := range m.Calls {
			tokens += parley.EstimateTokens(m.Calls[j].Name) + parley.EstimateTokens(m.Calls[j].Arguments)
		}
	}
	return send(x, struct {
		Input int `json:"input_tokens"`
	}{tokens})
}

// send answers 200 with JSON.
func send[T any](x *protocol.Exchange, value T) error {
	body, err := parley.EncodeJSON(value)
	if err != nil {
		return err
	}
	header := x.W.Header()
	header.Set("Content-Type", "application/json")
	header.Set(requestHeader, x.RequestID.String())
	_, _ = x.W.Write(body) // the client may be gone; the work is done
	return nil
}
