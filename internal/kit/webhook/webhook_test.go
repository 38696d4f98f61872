package webhook

import (
	"strings"
	"testing"
)

func TestCheckURLAllowsHTTPSAndLoopback(t *testing.T) {
	tests := []struct {
		name string
		url  string
		want string // prefix of the error; "" for none
	}{
		{"https", "https://sms.example.com/send", ""},
		{"https with a port and a query", "https://sms.example.com:8443/send?key=hunter2", ""},
		{"https to an address", "https://[2001:db8::1]/", ""},
		{"a scheme in capitals", "HTTPS://sms.example.com", ""},
		{"http to localhost", "http://LocalHost:9000/send", ""},
		{"http to 127.0.0.1", "http://127.0.0.1:9000/", ""},
		{"http to another loopback address", "http://127.3.2.1/", ""},
		{"http to ::1", "http://[::1]:9000/", ""},
		{"http to a loopback address written as IPv6", "http://[::ffff:127.0.0.1]/", ""},

		{"http to a host", "http://sms.example.com/", "the URL must begin with https://; http is"},
		{"http to a private address", "http://10.0.0.1/", "the URL must begin with https://; http is"},
		{"http to every address", "http://0.0.0.0/", "the URL must begin with https://; http is"},
		{"http to a name with prefix localhost", "http://localhost.example.com/", "the URL must begin with https://; http is"},
		{"http to a short form of an address", "http://127.1/", "the URL must begin with https://; http is"},
		{"another scheme", "ftp://sms.example.com/", "the URL must begin with https://"},
		{"no scheme", "sms.example.com/send", "the URL must begin with https://"},
		{"nothing", "", "the URL must begin with https://"},
		{"no slashes", "https:sms.example.com", "the URL must have a host"},
		{"no host", "https:///send", "the URL must have a host"},
		{"a port alone", "https://:443/send", "the URL must have a host"},
		{"port 0", "https://sms.example.com:0/", "the URL must have a host"},
		{"a port that is too large", "https://sms.example.com:65536/", "the URL must have a host"},
		{"not a port", "https://sms.example.com:hunter2/", "the URL is invalid"},
		{"a user", "https://zoe:hunter2@sms.example.com/", "the URL must not contain a user"},
		{"a user without a name", "https://@sms.example.com/", "the URL must not contain a user"},
		{"a user before a loopback host", "http://zoe:hunter2@localhost/", "the URL must not contain a user"},
		{"a loopback host as the user", "http://localhost:hunter2@sms.example.com/", "the URL must not contain a user"},
		{"a fragment", "https://sms.example.com/#hunter2", "the URL must not contain a fragment"},
		{"an empty fragment", "https://sms.example.com/#", "the URL must not contain a fragment"},
		{"a line end", "https://sms.example.com/\nhunter2", "the URL is invalid"},
		{"a broken escape", "https://sms.example.com/%zzhunter2", "the URL is invalid"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			err := CheckURL(tt.url)
			if tt.want == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			if err == nil || !strings.HasPrefix(err.Error(), tt.want) {
				t.Fatalf("got %v, want %q…", err, tt.want)
			}
			for _, part := range []string{"hunter2", "zoe", "example"} {
				if strings.Contains(err.Error(), part) {
					t.Errorf("the error contains %q of the URL: %v", part, err)
				}
			}
		})
	}
}

func TestCheckSecretNeedsSixteenBytes(t *testing.T) {
	if err := CheckSecret("0123456789abcdef"); err != nil {
		t.Error(err)
	}
	if err := CheckSecret("密码密码密"); err == nil { // 15 bytes
		t.Error("15 bytes are accepted, want an error")
	}
	if err := CheckSecret("0123456789abcde"); err == nil || strings.Contains(err.Error(), "0123") {
		t.Errorf("15 bytes: got %v, want an error without the secret", err)
	}
}

// Key, text and result of test case 2 of RFC 4231.
const (
	rfcKey  = "Jefe"
	rfcText = "what do ya want for nothing?"
	rfcSum  = "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
)

func TestSignIsTheHMACOfRFC4231(t *testing.T) {
	if got := Sign([]byte(rfcKey), []byte(rfcText)); got != rfcSum {
		t.Errorf("got %s, want %s", got, rfcSum)
	}
}

func TestVerifyAcceptsOnlyTheSignature(t *testing.T) {
	tests := []struct {
		name, key, body, signature string
		want                       bool
	}{
		{"the right one", rfcKey, rfcText, rfcSum, true},
		{"in capitals", rfcKey, rfcText, strings.ToUpper(rfcSum), true},
		{"another key", "Jeff", rfcText, rfcSum, false},
		{"another body", rfcKey, rfcText + " ", rfcSum, false},
		{"another digit", rfcKey, rfcText, "4" + rfcSum[1:], false},
		{"shortened", rfcKey, rfcText, rfcSum[:32], false},
		{"lengthened", rfcKey, rfcText, rfcSum + "00", false},
		{"none", rfcKey, rfcText, "", false},
		{"no hexadecimal", rfcKey, rfcText, strings.Repeat("x", 64), false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := Verify([]byte(tt.key), []byte(tt.body), tt.signature); got != tt.want {
				t.Errorf("got %v, want %v", got, tt.want)
			}
		})
	}
}
