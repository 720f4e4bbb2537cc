package bench

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"sync"
	"time"
)

// Target is where turns are sent: client i keeps a connection to Addrs[i modulo their number], request(i) returns its
// whole HTTP request, First marks the first token in the answer's bytes.
type Target struct {
	Name    string
	Addrs   []string
	Request func(client int) []byte
	First   []byte
}

// Addr returns the address of a client's connection.
func (t Target) Addr(client int) string { return t.Addrs[client%len(t.Addrs)] }

// Sample is one turn as a client saw it.
type Sample struct {
	First time.Duration // from the request's last byte to the first token
	Total time.Duration
}

// endOfAnswer ends every chunked answer.
var endOfAnswer = []byte("\r\n0\r\n\r\n") //nolint:gochecknoglobals // never written

// answerBound ends a turn that hangs.
const answerBound = 2 * time.Minute

// Run sends turns from clients that each keep one connection, until count turns in all have started, and returns a
// sample per turn.
func Run(ctx context.Context, target Target, clients, count int) ([]Sample, error) {
	var (
		mu      sync.Mutex // guards samples, started and failed
		samples []Sample
		started int
		failed  error
		wg      sync.WaitGroup
	)
	begin := make(chan struct{})
	for client := range clients {
		conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", target.Addr(client))
		if err != nil {
			return nil, err
		}
		defer conn.Close() //nolint:errcheck // the run is over
		wg.Go(func() {
			<-begin
			buffer := make([]byte, 64<<10)
			for {
				mu.Lock()
				more := started < count && failed == nil
				started++
				mu.Unlock()
				if !more {
					return
				}
				sample, err := turn(conn, target.Request(client), target.First, buffer)
				mu.Lock()
				if err != nil {
					failed = errors.Join(failed, fmt.Errorf("%s: %w", target.Name, err))
				}
				samples = append(samples, sample)
				mu.Unlock()
			}
		})
	}
	close(begin)
	wg.Wait()
	return samples, failed
}

// turn sends one request and reads its answer to the end.
func turn(conn net.Conn, request, first, buffer []byte) (Sample, error) {
	if err := conn.SetDeadline(time.Now().Add(answerBound)); err != nil {
		return Sample{}, err
	}
	if _, err := conn.Write(request); err != nil {
		return Sample{}, err
	}
	var sample Sample
	sent := time.Now()
	overlap := max(len(first), len(endOfAnswer), 16) - 1
	kept := 0 // bytes of the previous read, to find a marker across two reads
	head := true
	for {
		n, err := conn.Read(buffer[kept:])
		if n > 0 {
			seen := buffer[:kept+n]
			if head {
				if !bytes.HasPrefix(seen, []byte("HTTP/1.1 20")) || !bytes.Contains(seen, []byte("chunked")) {
					return sample, fmt.Errorf("answered %q", seen[:min(len(seen), 500)])
				}
				head = false
			}
			if sample.First == 0 && bytes.Contains(seen, first) {
				sample.First = time.Since(sent)
			}
			if bytes.HasSuffix(seen, endOfAnswer) {
				sample.Total = time.Since(sent)
				if sample.First == 0 {
					return sample, fmt.Errorf(
						"an answer came without its first token, ending %q",
						seen[max(0, len(seen)-500):],
					)
				}
				return sample, nil
			}
			keep := min(overlap, len(seen))
			kept = copy(buffer, seen[len(seen)-keep:])
		}
		if err != nil {
			return sample, errors.Join(err, io.ErrUnexpectedEOF)
		}
	}
}

// Post makes a POST request's bytes.
func Post(addr, path, accept string, body []byte) []byte {
	return fmt.Appendf(
		nil,
		"POST %s HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nAccept: %s\r\nContent-Length: %d\r\n\r\n%s",
		path,
		addr,
		accept,
		len(body),
		body,
	)
}

// Get makes a GET request's bytes.
func Get(addr, path, accept string) []byte {
	return fmt.Appendf(nil, "GET %s HTTP/1.1\r\nHost: %s\r\nAccept: %s\r\n\r\n", path, addr, accept)
}

// Median returns the median of a figure over samples.
func Median(samples []Sample, figure func(Sample) time.Duration) time.Duration {
	all := make([]time.Duration, len(samples))
	for i, s := range samples {
		all[i] = figure(s)
	}
	slices.Sort(all)
	if len(all) == 0 {
		return 0
	}
	return all[len(all)/2]
}
