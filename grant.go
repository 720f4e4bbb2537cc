package parley

import (
	"encoding/json"
	"strings"
)

// GrantEffect is what a grant says about the calls that it matches.
type GrantEffect string

// The effects.
const (
	GrantAllow GrantEffect = "allow" // it runs
	GrantAsk   GrantEffect = "ask"   // a person is asked first
	GrantDeny  GrantEffect = "deny"  // it never runs
)

// The bounds of grants.
const (
	MaxGrants            = 256 // per agent, per session
	MaxGrantArguments    = 32  // patterns of one grant
	MaxGrantPatternBytes = 4096
	MaxApprovers         = 8 // per call
)

// Grant is a rule about calls of tools, on an agent or a session. Tool is a name, or a pattern in which * stands for
// any text. Arguments are patterns by the name of a top-level argument, all of which must match: a string unchanged,
// any other value as its canonical JSON; an absent argument matches nothing. A pattern sees text, not meaning: /tmp/*
// matches /tmp/../etc too. Fingerprint limits the rule to one exact call (see Fingerprint).
//
// Approvers and ByOthers require a stronger approval: that many different people must approve, and none of them may
// have asked for the call. Nothing lifts such a rule, wherever it is set; only a denial is stronger.
type Grant struct {
	Tool        string            `json:"tool" doc:"A tool's name, or a pattern: * stands for any text."`
	Arguments   map[string]string `json:"arguments,omitempty" doc:"Patterns by argument; all must match. * stands for any text."`
	Fingerprint Hash              `json:"fingerprint,omitzero" doc:"Only the call with this fingerprint, as approvals show it."`
	Effect      GrantEffect       `json:"effect" enum:"allow,ask,deny"`
	Approvers   int               `json:"approvers,omitempty" minimum:"1" maximum:"8" doc:"For ask: how many different people must approve; 1 when absent."`
	ByOthers    bool              `json:"by_others,omitempty" doc:"For ask: the people who asked for the call may not approve it."`
}

// named reports whether the rule says who approves.
func (g *Grant) named() bool { return g.Approvers > 0 || g.ByOthers }

// MarshalJSON writes null for absent fields.
func (g Grant) MarshalJSON() ([]byte, error) {
	return EncodeJSON(struct {
		Tool        string            `json:"tool"`
		Arguments   map[string]string `json:"arguments"`
		Fingerprint Hash              `json:"fingerprint"`
		Effect      GrantEffect       `json:"effect"`
		Approvers   *int              `json:"approvers"`
		ByOthers    bool              `json:"by_others"`
	}{g.Tool, g.Arguments, g.Fingerprint, g.Effect, OrNull(g.Approvers), g.ByOthers})
}

// Validate reports the field that breaks a rule.
func (g Grant) Validate() error {
	if g.Tool == "" {
		return InvalidField("grants.tool", `is missing; name a tool, or give a pattern such as "fs__*"`)
	}
	if err := CheckText("grants.tool", g.Tool, MaxNameBytes); err != nil {
		return err
	}
	if len(g.Arguments) > MaxGrantArguments {
		return InvalidField("grants.arguments", "at most %d patterns in one grant", MaxGrantArguments)
	}
	for name, pattern := range g.Arguments {
		if err := CheckText("grants.arguments", name, MaxNameBytes); err != nil {
			return err
		}
		if err := CheckText("grants.arguments", pattern, MaxGrantPatternBytes); err != nil {
			return err
		}
	}
	if !g.Fingerprint.IsZero() && (len(g.Arguments) > 0 || strings.Contains(g.Tool, "*")) {
		return InvalidField(
			"grants.fingerprint",
			"identifies one tool with its arguments: give it with the tool's name only",
		)
	}
	if g.Approvers < 0 || g.Approvers > MaxApprovers {
		return InvalidField("grants.approvers", "must lie between 1 and %d", MaxApprovers)
	}
	switch {
	case g.named() && g.Effect != GrantAsk:
		return InvalidField("grants.approvers", `approvers and by_others belong to the effect "ask"`)
	case g.Effect == GrantAllow, g.Effect == GrantAsk, g.Effect == GrantDeny:
		return nil
	}
	return InvalidField("grants.effect", "%q is not one of allow, ask, deny", Clip(string(g.Effect), 32))
}

// Concerns reports whether the grant is about a tool, whatever the arguments.
func (g *Grant) Concerns(tool string) bool { return matchPattern(g.Tool, tool) }

// ValidateGrants reports the first grant that breaks a rule.
func ValidateGrants(grants []Grant) error {
	if len(grants) > MaxGrants {
		return InvalidField("grants", "at most %d grants", MaxGrants)
	}
	for i := range grants {
		if err := grants[i].Validate(); err != nil {
			return err
		}
	}
	return nil
}

// Fingerprint identifies one exact call: the SHA-256 over the tool's name as a JSON string and the canonical JSON of
// the arguments. It returns CodeInvalid if the arguments are not JSON.
func Fingerprint(tool string, arguments json.RawMessage) (Hash, error) {
	canonical, err := CanonicalJSON(arguments)
	if err != nil {
		return Hash{}, err
	}
	return HashOf(append(AppendJSONString(make([]byte, 0, len(tool)+len(canonical)+2), tool), canonical...)), nil
}

// Named reports whether a rule says who approves the call.
func (r Ruling) Named() bool { return r.Approvers > 0 || r.ByOthers }

// Grants are the rules that apply to the calls of a turn.
type Grants struct {
	Session   []Grant // the nearest scope
	Agent     []Grant
	Inherited []Grant // from a tool session's ancestors and their agents: only denials and named approvals apply
}

// Ruling is what the rules say about a call.
type Ruling struct {
	Effect GrantEffect
	// BySession means that a grant of the session decided, not one of its agent and not the tool's annotations.
	BySession bool
	Approvers int  // for ask: how many must approve; 0 means one
	ByOthers  bool // for ask: none of them may have asked for the call
}

// Decide says whether a call runs, needs approval, or is denied. A matching denial wins, wherever it is set; then, of
// the matching rules that name who approves, the strictest; then the most specific matching grant of the nearest scope
// that has one, the stricter of two equals; then the tool's annotations: a tool that is destructive and not read-only
// needs approval. Arguments that are not an object match no patterns.
func (g Grants) Decide(tool string, arguments json.RawMessage, annotations ToolAnnotations) Ruling {
	call := grantedCall{tool: tool, raw: arguments}
	session, agent := call.best(g.Session), call.best(g.Agent)
	named := call.named(g.Session, g.Agent, g.Inherited)
	switch {
	case call.denied(g.Session), call.denied(g.Agent), call.denied(g.Inherited):
		return Ruling{Effect: GrantDeny}
	case named.Effect != "":
		return named
	case session != "":
		return Ruling{Effect: session, BySession: true}
	case agent != "":
		return Ruling{Effect: agent}
	case annotations.Destructive && !annotations.ReadOnly:
		return Ruling{Effect: GrantAsk}
	}
	return Ruling{Effect: GrantAllow}
}

// Names reports whether the rule is about calls of a tool, of whatever arguments.
func (g *Grant) Names(tool string) bool { return matchPattern(g.Tool, tool) }

// grantedCall is a call compared with grants. It computes what grants need on first use.
type grantedCall struct {
	tool        string
	raw         json.RawMessage
	read        bool
	arguments   map[string]json.RawMessage
	fingerprint Hash
}

func (c *grantedCall) denied(grants []Grant) bool {
	for i := range grants {
		if grants[i].Effect == GrantDeny && c.matches(&grants[i]) {
			return true
		}
	}
	return false
}

// named returns the strictest of the rules about who approves; no effect if there is none.
func (c *grantedCall) named(scopes ...[]Grant) (ruling Ruling) {
	for _, grants := range scopes {
		for i := range grants {
			g := &grants[i]
			if !g.named() || !c.matches(g) {
				continue
			}
			ruling.Effect = GrantAsk
			ruling.Approvers = max(ruling.Approvers, g.Approvers)
			ruling.ByOthers = ruling.ByOthers || g.ByOthers
		}
	}
	return ruling
}

// best returns the effect of the most specific matching grant, "" for none.
func (c *grantedCall) best(grants []Grant) (effect GrantEffect) {
	var most specificity
	for i := range grants {
		g := &grants[i]
		if !c.matches(g) {
			continue
		}
		if s := specificityOf(g); effect == "" || most.less(s) || s == most && g.Effect.stricter(effect) {
			most, effect = s, g.Effect
		}
	}
	return effect
}

func (c *grantedCall) matches(g *Grant) bool {
	if !matchPattern(g.Tool, c.tool) {
		return false
	}
	if len(g.Arguments) == 0 && g.Fingerprint.IsZero() {
		return true
	}
	c.readArguments()
	if !g.Fingerprint.IsZero() {
		return g.Fingerprint == c.fingerprint
	}
	for name, pattern := range g.Arguments {
		value, ok := c.arguments[name]
		if !ok || !matchPattern(pattern, argumentText(value)) {
			return false
		}
	}
	return true
}

func (c *grantedCall) readArguments() {
	if c.read {
		return
	}
	c.read = true
	if json.Unmarshal(c.raw, &c.arguments) != nil {
		c.arguments = nil
		return
	}
	if fingerprint, err := Fingerprint(c.tool, c.raw); err == nil {
		c.fingerprint = fingerprint
	}
}

// argumentText returns an argument as patterns see it.
func argumentText(value json.RawMessage) string {
	var text string
	if json.Unmarshal(value, &text) == nil && len(value) > 0 && value[0] == '"' {
		return text
	}
	canonical, err := CanonicalJSON(value)
	if err != nil {
		return string(value)
	}
	return string(canonical)
}

// specificity orders grants: an exact call first, then a tool by name, then by how much of the tool's name is fixed,
// then by how many arguments, and how much of them, a grant fixes.
type specificity struct {
	exact     bool
	named     bool
	fixed     int
	arguments int
	bound     int
}

func specificityOf(g *Grant) specificity {
	s := specificity{
		exact: !g.Fingerprint.IsZero(), named: !strings.Contains(g.Tool, "*"),
		fixed: len(g.Tool) - strings.Count(g.Tool, "*"), arguments: len(g.Arguments),
	}
	for _, pattern := range g.Arguments {
		s.bound += len(pattern) - strings.Count(pattern, "*")
	}
	return s
}

func (s specificity) less(other specificity) bool {
	switch {
	case s.exact != other.exact:
		return other.exact
	case s.named != other.named:
		return other.named
	case s.fixed != other.fixed:
		return s.fixed < other.fixed
	case s.arguments != other.arguments:
		return s.arguments < other.arguments
	}
	return s.bound < other.bound
}

func (e GrantEffect) stricter(than GrantEffect) bool { return e.strictness() > than.strictness() }

func (e GrantEffect) strictness() int {
	switch e {
	case GrantAllow:
		return 0
	case GrantAsk:
		return 1
	}
	return 2
}

// matchPattern matches text against a pattern in which * stands for any text. It takes time proportional to the product
// of their lengths at worst.
func matchPattern(pattern, text string) bool {
	star, mark := -1, 0
	p, i := 0, 0
	for i < len(text) {
		switch {
		case p < len(pattern) && pattern[p] == '*':
			star, mark = p, i
			p++
		case p < len(pattern) && pattern[p] == text[i]:
			p, i = p+1, i+1
		case star >= 0:
			mark++
			p, i = star+1, mark
		default:
			return false
		}
	}
	for p < len(pattern) && pattern[p] == '*' {
		p++
	}
	return p == len(pattern)
}

// WithAllowed adds a grant that allows calls of a tool, or only those with a fingerprint if it is set, replacing a
// grant that says otherwise about exactly the same calls. Denials stay. It returns CodeConflict if there is no room.
func WithAllowed(grants []Grant, tool string, fingerprint Hash) ([]Grant, error) {
	added := make([]Grant, 0, len(grants)+1)
	for _, g := range grants {
		if g.Tool == tool && g.Fingerprint == fingerprint && len(g.Arguments) == 0 && g.Effect != GrantDeny &&
			!g.named() {
			continue
		}
		added = append(added, g)
	}
	if len(added) >= MaxGrants {
		return nil, Errorf(
			CodeConflict,
			"the session has %d grants, which is the most; remove some, or approve this call once",
			len(added),
		)
	}
	return append(added, Grant{Tool: tool, Fingerprint: fingerprint, Effect: GrantAllow}), nil
}
