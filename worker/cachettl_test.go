package worker

import (
	"testing"

	"example.org/parley"
	"example.org/parley/model"
	"example.org/parley/store"
)

// TestCachesLiveAsLongAsATurnMayWait: the provider is asked for an hour where calls may wait for somebody, for five
// minutes elsewhere, and for what a setting says; the call shows which, and writing to the cache costs what that costs.
func TestCachesLiveAsLongAsATurnMayWait(t *testing.T) {
	tools := func(refs ...parley.ToolRef) *[]parley.ToolRef { return &refs }
	look, remove := parley.ToolRef{Name: "look"}, parley.ToolRef{Name: "remove"}
	client := parley.ToolRef{Name: "pick", Definition: &parley.ToolDefinition{Name: "pick"}}
	agent := parley.ToolRef{Name: "clerk", Agent: &parley.AgentTool{Name: "clerk", Agent: parley.BuiltinAgentSlug}}
	rules := func(effect parley.GrantEffect, tool string) *[]parley.Grant {
		return &[]parley.Grant{{Tool: tool, Effect: effect}}
	}
	const short, long = parley.CacheMinutes, parley.CacheHour
	for name, c := range map[string]struct {
		settings parley.Settings
		plain    bool // the provider offers no choice
		want     parley.CacheTTL
	}{
		"no tools":          {want: short},
		"a tool that reads": {settings: parley.Settings{Tools: tools(look)}, want: short},
		"a destructive tool": {
			settings: parley.Settings{Tools: tools(look, remove)}, want: long,
		},
		"one that is allowed": {
			settings: parley.Settings{Tools: tools(remove), Grants: rules(parley.GrantAllow, "remove")}, want: short,
		},
		"one that is forbidden": {
			settings: parley.Settings{Tools: tools(remove), Grants: rules(parley.GrantDeny, "remove")}, want: short,
		},
		"a rule that asks": {
			settings: parley.Settings{Tools: tools(look), Grants: rules(parley.GrantAsk, "look")}, want: long,
		},
		"a rule about another tool": {
			settings: parley.Settings{Tools: tools(look), Grants: rules(parley.GrantAsk, "remove")}, want: short,
		},
		"a client's tool":     {settings: parley.Settings{Tools: tools(client)}, want: long},
		"an agent":            {settings: parley.Settings{Tools: tools(agent)}, want: long},
		"a setting, longer":   {settings: parley.Settings{CacheTTL: new(long)}, want: long},
		"a setting, shorter":  {settings: parley.Settings{Tools: tools(client), CacheTTL: new(short)}, want: short},
		"without such choice": {settings: parley.Settings{Tools: tools(client), CacheTTL: new(long)}, plain: true},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			r.model.caching, r.model.hour = true, !c.plain
			r.tools = fakeTools{{name: "look"}, {name: "remove", annotations: destructive()}}
			r.start(nil)
			in, out, written := int64(2000), int64(0), int64(1000)
			r.model.play(chunks(
				text(0, "Hello."),
				model.Chunk{Kind: model.ChunkUsage, Usage: parley.Usage{
					InputTokens: &in, OutputTokens: &out, CacheWriteTokens: &written,
				}},
				done(parley.FinishStop),
			))
			sessionID, _ := r.converse(c.settings, "Hi")
			calls, err := r.store.Calls(t.Context(), r.scope, sessionID, store.CallQuery{Limit: 1})
			r.must(err)
			asked := r.model.asked()
			if request := asked[0]; request.CacheTTL != c.want || request.CacheKey == "" {
				t.Errorf("the provider is asked for %q, want %q", request.CacheTTL, c.want)
			}
			if got := calls[0].Manifest.CacheTTL; got != c.want {
				t.Errorf("the call shows %q, want %q", got, c.want)
			}
			price := map[parley.CacheTTL]parley.Money{"": 2_000_000, short: 2_250_000, long: 3_000_000}[c.want]
			if cost := calls[0].Cost; cost == nil || *cost != price {
				t.Errorf("it cost %v, want %s", cost, price)
			}
		})
	}
}
