package sandbox

import (
	"bufio"
	"context"
	"crypto/x509"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"sync"
	"time"

	"callgate/internal/address"
	"callgate/internal/loopback"
)

// Peer is the target of a program's connection.
type Peer struct {
	Host string // a name or an address, in its normal form
	Port uint16
	// Private is the address behind Host if it is on this machine or in a private network; else the zero value.
	Private netip.Addr
}

// String returns HOST:PORT, without the port of https.
func (p Peer) String() string {
	if p.Port == 443 {
		return p.Host
	}
	return p.Host + ":" + strconv.Itoa(int(p.Port))
}

// Proxy is a sandbox's only way to the network: HTTP with CONNECT, and SOCKS5. It resolves names itself.
type Proxy struct {
	// Judge returns nil if a connection may be made. It may wait for a person. If Judge is nil, nothing may be
	// connected to.
	Judge  func(ctx context.Context, to Peer) error
	Logger *slog.Logger

	// Swaps lists secrets to put into requests. Over TLS this needs an Authority. Roots lists the certificates to trust
	// on the way out; nil means the system's.
	Swaps     []Swap
	Authority *Authority
	Roots     *x509.CertPool

	// Resolve and Dial are the system's if nil.
	Resolve func(ctx context.Context, host string) ([]netip.Addr, error)
	Dial    func(ctx context.Context, to netip.AddrPort) (net.Conn, error)

	ctx    context.Context
	cancel context.CancelFunc
	wg     sync.WaitGroup
	places chan struct{}

	mu      sync.Mutex
	answers map[Peer]*answer
}

// answer is Judge's answer about a peer.
type answer struct {
	done  chan struct{}
	err   error
	until time.Time // set when done is closed
}

// Limits of a proxy.
const (
	maxConnections = 256
	maxAnswers     = 1024
	maxHead        = 1 << 20          // bytes of a request's header
	yesHolds       = 5 * time.Minute  // a program opens many connections to one host: ask people once
	noHolds        = time.Minute      // a program that tries again and again bothers nobody
	helloTime      = 30 * time.Second // how long a program may take to send its request
	dialTime       = 20 * time.Second
)

// Env returns the variables that point programs to the proxy at that address.
func Env(proxy string) []string {
	env := []string{"NODE_USE_ENV_PROXY=1"}
	for name, value := range map[string]string{
		"http_proxy": "http://" + proxy, "https_proxy": "http://" + proxy, "all_proxy": "socks5h://" + proxy, "no_proxy": "localhost,127.0.0.1,::1",
	} {
		env = append(env, name+"="+value, strings.ToUpper(name)+"="+value)
	}
	return env
}

// Start serves connections from l until Close. It closes l.
func (p *Proxy) Start(l net.Listener) {
	p.ctx, p.cancel = context.WithCancel(context.Background())
	p.places, p.answers = make(chan struct{}, maxConnections), map[Peer]*answer{}
	p.wg.Go(func() {
		<-p.ctx.Done()
		l.Close() // it may be closed already
	})
	p.wg.Go(func() {
		defer p.cancel()
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			select {
			case p.places <- struct{}{}:
			default:
				c.Close() // too many
				continue
			}
			p.wg.Go(func() {
				defer func() { <-p.places }()
				p.serve(c)
			})
		}
	})
}

// Close ends all connections and waits for them.
func (p *Proxy) Close() {
	p.cancel()
	p.wg.Wait()
}

// serve serves one connection.
func (p *Proxy) serve(c net.Conn) {
	defer c.Close()
	ctx, cancel := context.WithCancel(p.ctx)
	defer cancel()
	defer context.AfterFunc(ctx, func() { c.Close() })()
	_ = c.SetReadDeadline(time.Now().Add(helloTime)) // connections support deadlines
	head := &io.LimitedReader{R: c, N: maxHead}
	in := bufio.NewReader(head)
	first, err := in.Peek(1)
	if err == nil {
		if first[0] == socksVersion {
			head.N = math.MaxInt64 // its messages are short
			err = p.socks(ctx, c, in)
		} else {
			err = p.http(ctx, c, in, head)
		}
	}
	if err != nil && !errors.Is(err, io.EOF) && ctx.Err() == nil && p.Logger != nil {
		p.Logger.Debug("a connection from the sandbox failed", "error", err)
	}
}

// http serves CONNECT, or one plain request with a full URL. head bounds what in reads; http lifts the bound behind the
// request's header.
func (p *Proxy) http(ctx context.Context, c net.Conn, in *bufio.Reader, head *io.LimitedReader) error {
	request, err := http.ReadRequest(in)
	if err != nil {
		return err
	}
	head.N = math.MaxInt64
	_ = c.SetReadDeadline(time.Time{})
	target, port := request.URL.Host, "80"
	if request.Method == http.MethodConnect {
		target, port = request.Host, "443"
	} else if request.URL.Scheme != "http" || target == "" {
		return reply(c, http.StatusBadRequest, "this is callgate's proxy: send CONNECT, or a request with a full URL")
	}
	if _, _, err := net.SplitHostPort(target); err != nil {
		target = net.JoinHostPort(strings.Trim(target, "[]"), port)
	}
	host, err := hostOf(target)
	if err != nil {
		return errors.Join(err, reply(c, http.StatusForbidden, err.Error()))
	}
	out, err := p.connect(ctx, target)
	if err != nil {
		code := http.StatusBadGateway
		if errors.As(err, new(*refusal)) {
			code = http.StatusForbidden
		}
		return errors.Join(err, reply(c, code, err.Error()))
	}
	defer out.Close()
	if request.Method == http.MethodConnect {
		if _, err := io.WriteString(c, "HTTP/1.1 200 Connection established\r\n\r\n"); err != nil {
			return err
		}
		return p.tunnel(ctx, c, in, out, host, target)
	}
	swap(request.Header, p.swapsOf(host))
	request.Close = true // only one request: the next may go elsewhere
	request.Header.Del("Proxy-Connection")
	request.Header.Del("Proxy-Authorization")
	if err := request.Write(out); err != nil {
		return err
	}
	_, err = io.Copy(c, out)
	return err
}

// reply answers a request that is not forwarded.
func reply(c net.Conn, code int, text string) error {
	_, err := fmt.Fprintf(c, "HTTP/1.1 %d %s\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s\n", code, http.StatusText(code), len(text)+1, text)
	return err
}

// Codes of SOCKS5 (RFC 1928).
const (
	socksVersion     = 5
	socksConnect     = 1
	socksIPv4        = 1
	socksName        = 3
	socksIPv6        = 4
	socksDone        = 0
	socksRefused     = 2
	socksUnreachable = 4
	socksUnknown     = 7
)

// socks serves SOCKS5 CONNECT without authentication.
func (p *Proxy) socks(ctx context.Context, c net.Conn, in *bufio.Reader) error {
	var head [2]byte
	if _, err := io.ReadFull(in, head[:]); err != nil {
		return err
	}
	if _, err := in.Discard(int(head[1])); err != nil {
		return err
	}
	if _, err := c.Write([]byte{socksVersion, 0}); err != nil {
		return err
	}
	var request [4]byte
	if _, err := io.ReadFull(in, request[:]); err != nil {
		return err
	}
	reply := func(code byte) error {
		_, err := c.Write([]byte{socksVersion, code, 0, socksIPv4, 0, 0, 0, 0, 0, 0})
		return err
	}
	target, err := socksTarget(request[3], in)
	if err != nil {
		return err
	}
	if request[1] != socksConnect {
		return errors.Join(fmt.Errorf("SOCKS command %d", request[1]), reply(socksUnknown))
	}
	_ = c.SetReadDeadline(time.Time{})
	out, err := p.connect(ctx, target)
	if err != nil {
		code := byte(socksUnreachable)
		if errors.As(err, new(*refusal)) {
			code = socksRefused
		}
		return errors.Join(err, reply(code))
	}
	defer out.Close()
	if err := reply(socksDone); err != nil {
		return err
	}
	host, err := hostOf(target)
	if err != nil {
		return err
	}
	return p.tunnel(ctx, c, in, out, host, target)
}

// tunnel carries a connection until it ends. It intercepts TLS to a host that has a swap, if there is an Authority.
func (p *Proxy) tunnel(ctx context.Context, c net.Conn, in *bufio.Reader, out net.Conn, host, target string) error {
	if swaps := p.swapsOf(host); p.Authority != nil && len(swaps) > 0 {
		if first, err := in.Peek(1); err == nil && first[0] == tlsHandshake {
			return p.intercept(ctx, &bufferedConn{c, in}, out, host, target, swaps)
		}
	}
	return splice(c, in, out)
}

// tlsHandshake is the first byte of TLS.
const tlsHandshake = 22

// bufferedConn is a connection whose first bytes have been buffered.
type bufferedConn struct {
	net.Conn
	in *bufio.Reader
}

func (r *bufferedConn) Read(b []byte) (int, error) { return r.in.Read(b) }

// socksTarget reads the target of a SOCKS5 request and returns it as HOST:PORT.
func socksTarget(kind byte, in *bufio.Reader) (string, error) {
	size := map[byte]int{socksIPv4: 4, socksIPv6: 16}[kind]
	if kind == socksName {
		n, err := in.ReadByte()
		if err != nil {
			return "", err
		}
		size = int(n)
	}
	if size == 0 {
		return "", fmt.Errorf("SOCKS address of type %d", kind)
	}
	b := make([]byte, size+2)
	if _, err := io.ReadFull(in, b); err != nil {
		return "", err
	}
	host := string(b[:size])
	if kind != socksName {
		ip, _ := netip.AddrFromSlice(b[:size]) // four or sixteen bytes
		host = ip.String()
	}
	return net.JoinHostPort(host, strconv.Itoa(int(binary.BigEndian.Uint16(b[size:])))), nil
}

// splice copies both directions until both have ended.
func splice(c net.Conn, in io.Reader, out net.Conn) error {
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = io.Copy(out, in) // the other direction returns the error
		if half, ok := out.(interface{ CloseWrite() error }); ok {
			_ = half.CloseWrite()
		}
	}()
	_, err := io.Copy(c, out)
	if half, ok := c.(interface{ CloseWrite() error }); ok {
		_ = half.CloseWrite()
	}
	<-done
	return err
}

// refusal is the reason why a connection may not be made.
type refusal struct{ why string }

func (r *refusal) Error() string { return r.why }

// hostOf returns the host of HOST:PORT in its normal form.
func hostOf(target string) (string, error) {
	host, _, err := net.SplitHostPort(target)
	if err != nil {
		return "", &refusal{err.Error()}
	}
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	normal, ok := address.Host(host)
	if !ok || len(normal) > 253 {
		return "", &refusal{"no host: " + strconv.Quote(host)}
	}
	return normal, nil
}

// connect connects to HOST:PORT if that is allowed. It resolves the name once, so it dials the address that was judged.
func (p *Proxy) connect(ctx context.Context, target string) (net.Conn, error) {
	normal, err := hostOf(target)
	if err != nil {
		return nil, err
	}
	_, port, _ := net.SplitHostPort(target) // hostOf has checked it
	n, err := strconv.ParseUint(port, 10, 16)
	if err != nil || n == 0 {
		return nil, &refusal{"no port: " + strconv.Quote(port)}
	}
	to := Peer{Host: normal, Port: uint16(n)}
	if err := p.judge(ctx, to); err != nil { // before the name is resolved: a name can carry out what a program knows
		return nil, err
	}
	addresses, err := p.lookUp(ctx, normal)
	if err != nil {
		return nil, err
	}
	for _, a := range addresses {
		if !loopback.Public(a) {
			addresses = []netip.Addr{a}
			if to.Private = a; a.String() == strings.Trim(normal, "[]") {
				break // it was already judged in this form
			}
			if err := p.judge(ctx, to); err != nil {
				return nil, err
			}
			break
		}
	}
	ctx, cancel := context.WithTimeout(ctx, dialTime)
	defer cancel()
	var all error
	for _, a := range addresses {
		c, err := p.dial(ctx, netip.AddrPortFrom(a, to.Port))
		if err == nil {
			return c, nil
		}
		all = errors.Join(all, err)
	}
	return nil, all
}

func (p *Proxy) lookUp(ctx context.Context, host string) (addresses []netip.Addr, err error) {
	if a, err := netip.ParseAddr(strings.Trim(host, "[]")); err == nil {
		return []netip.Addr{a}, nil
	}
	ctx, cancel := context.WithTimeout(ctx, dialTime)
	defer cancel()
	if p.Resolve != nil {
		addresses, err = p.Resolve(ctx, host)
	} else {
		addresses, err = net.DefaultResolver.LookupNetIP(ctx, "ip", host)
	}
	if err == nil && len(addresses) == 0 {
		err = fmt.Errorf("%s has no address", host)
	}
	for i := range addresses {
		addresses[i] = addresses[i].Unmap()
	}
	return addresses, err
}

func (p *Proxy) dial(ctx context.Context, to netip.AddrPort) (net.Conn, error) {
	if p.Dial != nil {
		return p.Dial(ctx, to)
	}
	var d net.Dialer
	return d.DialContext(ctx, "tcp", to.String())
}

// judge has a peer judged once, however many connections to it wait.
func (p *Proxy) judge(ctx context.Context, to Peer) error {
	p.mu.Lock()
	a := p.answers[to]
	if a != nil && !a.until.IsZero() && time.Now().After(a.until) {
		a = nil
	}
	if a == nil {
		if len(p.answers) >= maxAnswers {
			for peer, old := range p.answers {
				if !old.until.IsZero() {
					delete(p.answers, peer)
				}
			}
		}
		a = &answer{done: make(chan struct{})}
		p.answers[to] = a
		p.wg.Go(func() { p.ask(to, a) })
	}
	p.mu.Unlock()
	select {
	case <-a.done:
		return a.err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// ask has a peer judged. It goes on even if the first caller has gone, because the answer is kept for the next.
func (p *Proxy) ask(to Peer, a *answer) {
	err := errors.New("no session is connected in which to ask about it")
	if p.Judge != nil {
		err = p.Judge(p.ctx, to)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	holds := yesHolds
	if err != nil {
		a.err, holds = &refusal{"callgate refused the connection to " + to.String() + ": " + err.Error()}, noHolds
	}
	a.until = time.Now().Add(holds)
	close(a.done)
}
