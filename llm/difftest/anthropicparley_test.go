package difftest_test

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	vendor "github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/lib/environments"
	"github.com/anthropics/anthropic-sdk-go/option"
	"github.com/anthropics/anthropic-sdk-go/toolrunner"
)

// runDeadline bounds what a runner of tools does here.
const runDeadline = time.Minute

// The vendor's Go client and its runners of tools, unmodified, talk to a server that they know by its address alone.
func TestAnthropicClientOfParley(t *testing.T) {
	_, url := running(t)
	client := vendor.NewClient(option.WithBaseURL(url+"/anthropic"), option.WithAuthToken("none"),
		option.WithMaxRetries(0))
	ctx, cancel := context.WithTimeout(t.Context(), runDeadline)
	defer cancel()
	var first, second *http.Response
	messages := []vendor.MessageParam{vendor.NewUserMessage(vendor.NewTextBlock("one"))}
	answer, err := client.Messages.New(ctx, vendor.MessageNewParams{
		Model: "sim/echo", MaxTokens: 99, Messages: messages,
	}, option.WithResponseInto(&first))
	if err != nil || answer.Content[0].Text != "one" || answer.StopReason != vendor.StopReasonEndTurn {
		t.Fatalf("the answer is %+v, %v", answer, err)
	}
	messages = append(messages, answer.ToParam(), vendor.NewUserMessage(vendor.NewTextBlock("two")))
	stream := client.Messages.NewStreaming(ctx, vendor.MessageNewParams{
		Model: "sim/reason", MaxTokens: 99, Messages: messages[2:],
	})
	defer stream.Close()
	var total vendor.Message
	for stream.Next() {
		if err := total.Accumulate(stream.Current()); err != nil {
			t.Errorf("%v: %s", err, stream.Current().RawJSON())
		}
	}
	if err := stream.Err(); err != nil || len(total.Content) != 2 || total.Content[0].Signature == "" ||
		total.Content[1].Text != "Simulated answer: two" || total.Usage.OutputTokens == 0 {
		t.Errorf("the stream added up to %+v, %v", total, err)
	}
	_, err = client.Messages.New(ctx, vendor.MessageNewParams{Model: "sim/echo", MaxTokens: 99, Messages: messages},
		option.WithResponseInto(&second))
	const header = "X-Parley-Session"
	if err != nil || first.Header.Get(header) == "" || first.Header.Get(header) != second.Header.Get(header) {
		t.Errorf("the history went on in %q, want %q: %v", second.Header.Get(header), first.Header.Get(header), err)
	}
	counted, err := client.Messages.CountTokens(ctx, vendor.MessageCountTokensParams{
		Model: "sim/echo", Messages: messages,
	})
	if err != nil || counted.InputTokens == 0 {
		t.Errorf("%+v tokens, %v", counted, err)
	}
	_, err = client.Messages.New(ctx, vendor.MessageNewParams{Model: "nobody", MaxTokens: 9, Messages: messages})
	var refusal *vendor.Error
	if !errors.As(err, &refusal) || refusal.StatusCode != http.StatusNotFound {
		t.Errorf("an unknown model: %v", err)
	}
	agentRunners(ctx, t, client)
}

// agentRunners has the vendor's runners answer the calls of managed agents.
func agentRunners(ctx context.Context, t *testing.T, client vendor.Client) {
	t.Helper()
	type place struct {
		City string `json:"city"`
	}
	asked := make(chan string, 4)
	weather, err := toolrunner.NewBetaToolFromJSONSchema("weather", "Looks",
		func(_ context.Context, in place) (vendor.BetaToolResultBlockParamContentUnion, error) {
			asked <- in.City
			return vendor.BetaToolResultBlockParamContentUnion{OfText: &vendor.BetaTextBlockParam{Text: "-3"}}, nil
		})
	if err != nil {
		t.Fatal(err)
	}
	agent, err := client.Beta.Agents.New(ctx, vendor.BetaAgentNewParams{
		Name: "Looker", Model: vendor.BetaManagedAgentsModelConfigParams{ID: "sim/script"},
		Tools: []vendor.BetaAgentNewParamsToolUnion{{OfCustom: &vendor.BetaManagedAgentsCustomToolParams{
			Type: vendor.BetaManagedAgentsCustomToolParamsTypeCustom, Name: "weather", Description: "Looks",
		}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	environment, err := client.Beta.Environments.New(ctx, vendor.BetaEnvironmentNewParams{
		Name:   "own",
		Config: vendor.BetaEnvironmentNewParamsConfigUnion{OfSelfHosted: &vendor.BetaSelfHostedConfigParams{}},
	})
	if err != nil {
		t.Fatal(err)
	}
	open := func(city string) string {
		session, err := client.Beta.Sessions.New(ctx, vendor.BetaSessionNewParams{
			Agent:         vendor.BetaSessionNewParamsAgentUnion{OfString: vendor.String(agent.ID)},
			EnvironmentID: environment.ID,
		})
		if err != nil {
			t.Fatal(err)
		}
		script := `[[{"tool_call":{"name":"weather","arguments":{"city":"` + city + `"}}}],[{"text":"Cold."}]]`
		_, err = client.Beta.Sessions.Events.Send(ctx, session.ID, vendor.BetaSessionEventSendParams{
			Events: []vendor.BetaManagedAgentsEventParamsUnion{{
				OfUserMessage: &vendor.BetaManagedAgentsUserMessageEventParams{
					Type: vendor.BetaManagedAgentsUserMessageEventParamsTypeUserMessage,
					Content: []vendor.BetaManagedAgentsUserMessageEventParamsContentUnion{{
						OfText: &vendor.BetaManagedAgentsTextBlockParam{
							Type: vendor.BetaManagedAgentsTextBlockTypeText, Text: script,
						},
					}},
				},
			}},
		})
		if err != nil {
			t.Fatal(err)
		}
		return session.ID
	}
	tools := []vendor.BetaTool{weather}
	idle := 200 * time.Millisecond
	session := open("Oslo")
	runner := vendor.NewSessionToolRunner(ctx, client, session, vendor.SessionToolRunnerOptions{
		Tools: tools, MaxIdle: &idle,
	})
	var calls []string
	for call, err := range runner.All() {
		if errors.Is(err, vendor.ErrIdleTimeout) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		calls = append(calls, call.Name)
	}
	if !slices.Equal(calls, []string{"weather"}) || <-asked != "Oslo" {
		t.Errorf("the runner ran %q", calls)
	}
	page, err := client.Beta.Sessions.Events.List(ctx, session, vendor.BetaSessionEventListParams{})
	if err != nil || !strings.Contains(page.RawJSON(), `"Cold."`) {
		t.Errorf("the events are %v, %v", page, err)
	}

	working, stop := context.WithCancel(ctx)
	ended := make(chan error, 1)
	worker := environments.NewEnvironmentWorker(client, environments.EnvironmentWorkerOptions{
		EnvironmentID: environment.ID, EnvironmentKey: "none", Tools: tools, MaxIdle: &idle,
	})
	go func() { ended <- worker.Run(working) }()
	open("Rome")
	select {
	case city := <-asked:
		if city != "Rome" {
			t.Errorf("the worker looked at %q", city)
		}
	case <-ctx.Done():
		t.Error("the worker got no work")
	}
	stop()
	<-ended
}
