package builtin

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"example.org/parley"
	"example.org/parley/internal/netguard"
	"example.org/parley/tool"
)

const (
	// TavilyURL is the search service that web_search asks.
	TavilyURL = "https://api.tavily.com"

	searchWithin    = 30 * time.Second
	maxSearchBytes  = 1 << 20
	defaultResults  = 5
	mostResults     = 20
	maxQueryBytes   = 1024
	maxContentBytes = 4096 // shown per page
)

// WebSearchOptions configure web_search. The key is required.
type WebSearchOptions struct {
	Key     string
	BaseURL string // "": TavilyURL. Another may lie in a private network, since the operator chose it
}

// WebSearch is a source with the tool web_search. Close it when no calls run any more.
type WebSearch struct {
	Source
	tool webSearch
}

// webSearch asks Tavily's search API.
type webSearch struct {
	fixed
	client *http.Client
	url    string
	secret http.Header
}

// NewWebSearch makes the source; CodeInvalid if the base URL is invalid.
func NewWebSearch(options WebSearchOptions) (*WebSearch, error) {
	base := options.BaseURL
	if base == "" {
		base = TavilyURL
	}
	origin, err := url.Parse(strings.TrimRight(base, "/"))
	if err != nil || origin.Host == "" || origin.Scheme != "http" && origin.Scheme != "https" {
		return nil, parley.InvalidField("TAVILY_BASE_URL", "is not a base URL: write one such as %s", TavilyURL)
	}
	tool := webSearch{
		fixed: fixed{
			parley.ToolDefinition{
				Name:        parley.WebSearchTool,
				Description: "Searches the web and gives titles, addresses and the relevant text of pages.",
				Parameters: json.RawMessage(`{"additionalProperties":false,"properties":{` +
					`"max_results":{"description":"1 to 20. Default 5.","maximum":20,"minimum":1,"type":"integer"},` +
					`"query":{"description":"What to search for.","type":"string"},` +
					`"topic":{"description":"Default general.","enum":["general","news"],"type":"string"}},` +
					`"required":["query"],"type":"object"}`),
			},
			parley.ToolAnnotations{ReadOnly: true, Idempotent: true, OpenWorld: true},
		},
		url: origin.String() + "/search", secret: http.Header{"Authorization": {"Bearer " + options.Key}},
	}
	tool.client = netguard.NewClient(
		netguard.Options{Origin: origin, Header: tool.secret, AllowPrivate: options.BaseURL != ""},
	)
	return &WebSearch{Source: sourceOf(tool), tool: tool}, nil
}

// Close closes unused connections.
func (w *WebSearch) Close() { w.tool.client.CloseIdleConnections() }

// webResults is the result.
type webResults struct {
	Results []webResult `json:"results"`
}

type webResult struct {
	Title   string  `json:"title"`
	URL     string  `json:"url"`
	Content string  `json:"content"`
	Score   float64 `json:"score"`
}

// Call implements tool.Tool.
func (w webSearch) Call(ctx context.Context, call tool.Call) (tool.Result, error) {
	return tool.JSON(w.answer(ctx, call))
}

func (w webSearch) answer(ctx context.Context, call tool.Call) (json.RawMessage, error) {
	request := struct {
		Query      string `json:"query"`
		MaxResults int    `json:"max_results"`
		Topic      string `json:"topic"`
	}{MaxResults: defaultResults, Topic: "general"}
	if err := call.Read(&request); err != nil {
		return nil, err
	}
	switch {
	case strings.TrimSpace(request.Query) == "":
		return nil, parley.InvalidField("query", "is empty; say what to search for")
	case len(request.Query) > maxQueryBytes:
		return nil, parley.InvalidField("query", "is longer than %d bytes", maxQueryBytes)
	case request.MaxResults < 1 || request.MaxResults > mostResults:
		return nil, parley.InvalidField("max_results", "must lie between 1 and %d", mostResults)
	case request.Topic != "general" && request.Topic != "news":
		return nil, parley.InvalidField("topic", "must be general or news")
	}
	body, err := json.Marshal(request)
	if err != nil {
		return nil, err
	}
	ctx, stop := context.WithTimeout(ctx, searchWithin)
	defer stop()
	answer, err := w.ask(ctx, body)
	if err != nil {
		return nil, err
	}
	var got webResults
	if err := json.Unmarshal(answer, &got); err != nil || got.Results == nil {
		return nil, parley.Errorf(parley.CodeUnavailable, "the search service gave an answer that cannot be read")
	}
	for i := range got.Results {
		got.Results[i].Content = parley.Clip(got.Results[i].Content, maxContentBytes)
	}
	return json.Marshal(got)
}

// ask posts to the service and explains its refusals.
func (w webSearch) ask(ctx context.Context, body []byte) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, w.url, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("User-Agent", "parley")
	response, err := w.client.Do(request)
	if err != nil {
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			return nil, parley.Errorf(
				parley.CodeUnavailable,
				"the search service did not answer within %s",
				searchWithin,
			)
		}
		return nil, parley.WrapError(parley.CodeUnavailable, err, "the search service could not be reached")
	}
	defer func() { _ = response.Body.Close() }() // read as far as needed
	answer, err := io.ReadAll(io.LimitReader(response.Body, maxSearchBytes+1))
	if err != nil || len(answer) > maxSearchBytes {
		return nil, parley.Errorf(parley.CodeUnavailable, "the search service's answer was interrupted or is too large")
	}
	switch {
	case response.StatusCode == http.StatusUnauthorized || response.StatusCode == http.StatusForbidden:
		return nil, parley.Errorf(
			parley.CodeForbidden,
			"the search service refuses this server's key; the operator can set another as TAVILY_API_KEY",
		)
	case response.StatusCode == http.StatusTooManyRequests || response.StatusCode == 432 ||
		response.StatusCode == 433: // the last two: Tavily's plan limits
		return nil, parley.Errorf(parley.CodeRateLimited, "the search service's limit is reached; try again later")
	case response.StatusCode != http.StatusOK:
		return nil, parley.Errorf(parley.CodeUnavailable, "the search service answered %s: %s", response.Status,
			parley.Clip(netguard.Redact(strings.ToValidUTF8(string(answer), "�"), w.secret), 512))
	}
	return answer, nil
}
