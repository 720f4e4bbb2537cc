package a2a

import (
	"cmp"
	"context"
	"strconv"
	"strings"

	"example.org/parley"
	"example.org/parley/engine"
	"example.org/parley/protocol"
)

// maxSkills is how many agents the server's card names.
const maxSkills = 100

// card describes the server, or an agent.
type card struct {
	Name        string            `json:"name"`
	Description string            `json:"description"`
	Interfaces  []binding         `json:"supportedInterfaces"`
	Version     string            `json:"version"`
	Can         capabilities      `json:"capabilities"`
	Schemes     map[string]scheme `json:"securitySchemes"`
	Inputs      []string          `json:"defaultInputModes"`
	Outputs     []string          `json:"defaultOutputModes"`
	Skills      []skill           `json:"skills"`
}

type binding struct {
	URL      string `json:"url"`
	Protocol string `json:"protocolBinding"`
	Version  string `json:"protocolVersion"`
}

type capabilities struct {
	Streaming bool `json:"streaming"`
	Push      bool `json:"pushNotifications"`
	Extended  bool `json:"extendedAgentCard"`
}

// scheme says how to authenticate. a2a-go 2.0.0 reads a name of its own and fails without it; others skip that.
type scheme struct {
	HTTP   httpScheme `json:"httpAuthSecurityScheme"`
	GoHTTP httpScheme `json:"http"`
}

type httpScheme struct {
	Scheme      string `json:"scheme"`
	Description string `json:"description"`
}

type skill struct {
	ID          string   `json:"id"`
	Name        string   `json:"name"`
	Description string   `json:"description"`
	Tags        []string `json:"tags"`
}

// The media types that messages and artifacts may have.
const (
	textType = "text/plain"
	jsonType = "application/json"
)

// serveCard answers with the card of the server, or of the agent in the path.
func (a *api) serveCard(x *protocol.Exchange) error {
	made, err := a.card(x.R.Context(), x, x.R.PathValue("agent"))
	if err != nil {
		return err
	}
	body, err := parley.EncodeJSON(made)
	if err == nil {
		answerJSON(x, body)
	}
	return err
}

// card describes an agent; the server, without one.
func (a *api) card(ctx context.Context, x *protocol.Exchange, name string) (*card, error) {
	bearer := httpScheme{"Bearer", "A key of Parley. A server without keys lets its own user in without one."}
	made := &card{
		Name: "Parley", Version: cmp.Or(a.version, "0"), Can: capabilities{true, true, true}, Skills: []skill{},
		Description: "Asks the agents of this server. Its skills are the agents; name one as tenant, or use its own " +
			"card at " + Prefix + "/AGENT" + wellKnown + cardPath + ".",
		Schemes: map[string]scheme{"key": {bearer, bearer}},
		Inputs:  []string{textType, jsonType, "image/png", "image/jpeg", "image/gif", "image/webp"},
		Outputs: []string{textType, jsonType},
	}
	at := Prefix
	if name != "" {
		agent, err := a.engine.Agent(ctx, x.Principal, name)
		if err != nil {
			return nil, err
		}
		made.Name, made.Version = agent.Name, strconv.Itoa(agent.Version)
		made.Skills = append(made.Skills, skillOf(&agent))
		made.Description = made.Skills[0].Description
		at += "/" + agent.Slug
	} else {
		agents, err := a.engine.Agents(ctx, x.Principal, engine.AgentList{Paging: engine.Paging{Limit: maxSkills}})
		if err != nil {
			return nil, err
		}
		for i := range agents.Data {
			made.Skills = append(made.Skills, skillOf(&agents.Data[i]))
		}
	}
	address := "http://"
	if x.R.TLS != nil || strings.EqualFold(x.R.Header.Get("X-Forwarded-Proto"), "https") {
		address = "https://"
	}
	made.Interfaces = []binding{{address + x.R.Host + at, "JSONRPC", version}}
	return made, nil
}

func skillOf(agent *parley.Agent) skill {
	return skill{
		agent.Slug, agent.Name, cmp.Or(agent.Description, "Asks the agent "+agent.Name+"."),
		append([]string{}, agent.Tags...),
	}
}
