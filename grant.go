package parley

import (
	"encoding/json"
	"strings"
)

// GrantEffect is what a grant says of the calls that it matches.
type GrantEffect string

// The effects.
const (
	GrantAllow GrantEffect = "allow" // it runs
	GrantAsk   GrantEffect = "ask"   // a person is asked first
	GrantDeny  GrantEffect = "deny"  // it never runs
)

// The bounds of grants.
const (
	MaxGrants            = 256 // of an agent, of a session
	MaxGrantArguments    = 32  // patterns of one grant
	MaxGrantPatternBytes = 4096
	MaxApprovers         = 8 // of one call
)

// Grant is a rule about calls of tools, on an agent or a session. Tool is a
// name, or a pattern in which * stands for any text. Arguments are patterns by
// the name of a top-level argument, all of which must match: a text as it is,
// any other value as its canonical JSON; an argument that is absent matches
// nothing. A pattern sees text, not meaning: /tmp/* matches /tmp/../etc too.
// Fingerprint means one exact call alone (see Fingerprint).
//
// Approvers and ByOthers name an approval of a stronger kind: so many different
// people say yes, and none of them may be one who asked for the call. Such a rule is
// lifted by nothing, wherever it stands; only a denial is stronger.
type Grant struct {
	Tool        string            `json:"tool" doc:"A tool's name, or a pattern: * stands for any text."`
	Arguments   map[string]string `json:"arguments,omitempty" doc:"Patterns by argument; all must match. * stands for any text."`
	Fingerprint Hash              `json:"fingerprint,omitzero" doc:"Only the one call with this fingerprint, as approvals show it."`
	Effect      GrantEffect       `json:"effect" enum:"allow,ask,deny"`
	Approvers   int               `json:"approvers,omitempty" minimum:"1" maximum:"8" doc:"Of ask: how many different people have to approve; 1 when absent."`
	ByOthers    bool              `json:"by_others,omitempty" doc:"Of ask: the people who asked for the call may not approve it."`
}

// named reports a rule about who approves.
func (g *Grant) named() bool { return g.Approvers > 0 || g.ByOthers }

// MarshalJSON writes null for what is absent.
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
			"stands for the arguments and one tool: give it with the tool's name alone",
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

// Concerns reports whether the grant is about a tool, whatever its arguments.
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

// Fingerprint names one exact call: the SHA-256 over the tool's name as a JSON
// string and the canonical JSON of the arguments. CodeInvalid when they are no JSON.
func Fingerprint(tool string, arguments json.RawMessage) (Hash, error) {
	canonical, err := CanonicalJSON(arguments)
	if err != nil {
		return Hash{}, err
	}
	return HashOf(append(AppendJSONString(make([]byte, 0, len(tool)+len(canonical)+2), tool), canonical...)), nil
}

// Grants are the rules that hold for the calls of a turn.
type Grants struct {
	Session   []Grant // the nearest scope
	Agent     []Grant
	Inherited []Grant // of the sessions above a tool session, and their agents: only denials and named approvals hold
}

// Ruling is what the rules say of a call.
type Ruling struct {
	Effect GrantEffect
	// BySession means that a grant of the session said so, not of its agent, and not
	// the tool's annotations.
	BySession bool
	Approvers int  // of ask: how many have to approve; 0 is one
	ByOthers  bool // of ask: none of them may have asked for the call
}

// Decide says whether a call runs, is asked about, or is denied: a denial that
// matches, wherever it stands, wins; then a rule that names who approves, the
// strictest of all that match; else the most specific grant of the nearest scope that
// has one that matches, the stricter of two that are equal; else the tool's
// annotations: what is destructive and not read-only is asked about. Arguments that
// are no object match no patterns.
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

// grantedCall is a call that grants are held against. What of it a grant may
// want is made when the first one does.
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

// named is the strictest of the rules about who approves; no effect without one.
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

// best is the effect of the most specific grant that matches, "" for none.
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

// argumentText is what a pattern sees of an argument.
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

// specificity orders grants: an exact call, then a tool by name, then by how
// much of the tool's name is fixed, then by how many arguments, and how much of
// them, a grant binds.
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

// matchPattern matches text against a pattern in which * stands for any text,
// in time proportional to their product at worst.
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

// WithAllowed adds a grant that allows calls of a tool, those with a fingerprint
// alone if it is set, in the place of one that says something else of just the
// same calls. What is denied stays so. CodeConflict when there is no room.
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
