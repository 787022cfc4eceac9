/**
 * URLs and IP addresses for SSRF tests, written out, so that no parser or resolver decides what they mean. Every row of
 * the first table spells the same 13 targets: loopback, private, metadata, shared, unspecified, benchmarking,
 * documentation, multicast, broadcast and, last, a public one, because callers may not give any IP address.
 */

const IP_SPELLINGS = {
  dotted: `
    127.0.0.1 10.0.0.1 172.16.0.1 192.168.1.1 169.254.169.254 100.100.100.200 0.0.0.0 198.18.0.1 192.0.2.1
    203.0.113.7 224.0.0.1 255.255.255.255 8.8.8.8
  `,
  decimal: `
    2130706433 167772161 2886729729 3232235777 2852039166 1684301000 0 3323068417 3221225985 3405803783 3758096385
    4294967295 134744072
  `,
  hex: `
    0x7f000001 0xa000001 0xac100001 0xc0a80101 0xa9fea9fe 0x646464c8 0x0 0xc6120001 0xc0000201 0xcb007107 0xe0000001
    0xffffffff 0x8080808
  `,
  octal: `
    017700000001 01200000001 025404000001 030052000401 025177524776 014431062310 00 030604400001 030000001001
    031300070407 034000000001 037777777777 01002004010
  `,
  dottedHex: `
    0x7f.0x0.0x0.0x1 0xa.0x0.0x0.0x1 0xac.0x10.0x0.0x1 0xc0.0xa8.0x1.0x1 0xa9.0xfe.0xa9.0xfe 0x64.0x64.0x64.0xc8
    0x0.0x0.0x0.0x0 0xc6.0x12.0x0.0x1 0xc0.0x0.0x2.0x1 0xcb.0x0.0x71.0x7 0xe0.0x0.0x0.0x1 0xff.0xff.0xff.0xff
    0x8.0x8.0x8.0x8
  `,
  dottedOctal: `
    0177.00.00.01 012.00.00.01 0254.020.00.01 0300.0250.01.01 0251.0376.0251.0376 0144.0144.0144.0310 00.00.00.00
    0306.022.00.01 0300.00.02.01 0313.00.0161.07 0340.00.00.01 0377.0377.0377.0377 010.010.010.010
  `,
  padded: `
    00177.00000.00000.00001 00012.00000.00000.00001 00254.00020.00000.00001 00300.00250.00001.00001
    00251.00376.00251.00376 00144.00144.00144.00310 00000.00000.00000.00000 00306.00022.00000.00001
    00300.00000.00002.00001 00313.00000.00161.00007 00340.00000.00000.00001 00377.00377.00377.00377
    00010.00010.00010.00010
  `,
  mixed: `
    0x7f.00.0.0x1 0xa.00.0.0x1 0xac.020.0.0x1 0xc0.0250.1.0x1 0xa9.0376.169.0xFE 0x64.0144.100.0xC8 0x0.00.0.0x0
    0xc6.022.0.0x1 0xc0.00.2.0x1 0xcb.00.113.0x7 0xe0.00.0.0x1 0xff.0377.255.0xFF 0x8.010.8.0x8
  `,
  threeParts: `
    127.0.1 10.0.1 172.16.1 192.168.257 169.254.43518 100.100.25800 0.0.0 198.18.1 192.0.513 203.0.28935 224.0.1
    255.255.65535 8.8.2056
  `,
  twoParts: `
    127.1 10.1 172.1048577 192.11010305 169.16689662 100.6579400 0.0 198.1179649 192.513 203.28935 224.1
    255.16777215 8.526344
  `,
  fullWidth: `
    １２７.０.０.１ １０.０.０.１ １７２.１６.０.１ １９２.１６８.１.１ １６９.２５４.１６９.２５４ １００.１００.１００.２００ ０.０.０.０ １９８.１８.０.１ １９２.０.２.１
    ２０３.０.１１３.７ ２２４.０.０.１ ２５５.２５５.２５５.２５５ ８.８.８.８
  `,
  fullWidthDots: `
    １２７．０．０．１ １０．０．０．１ １７２．１６．０．１ １９２．１６８．１．１ １６９．２５４．１６９．２５４ １００．１００．１００．２００ ０．０．０．０ １９８．１８．０．１ １９２．０．２．１
    ２０３．０．１１３．７ ２２４．０．０．１ ２５５．２５５．２５５．２５５ ８．８．８．８
  `,
  ideographicDots: `
    127。0。0。1 10。0。0。1 172。16。0。1 192。168。1。1 169。254。169。254 100。100。100。200 0。0。0。0 198。18。0。1 192。0。2。1
    203。0。113。7 224。0。0。1 255。255。255。255 8。8。8。8
  `,
  halfWidthDots: `
    127｡0｡0｡1 10｡0｡0｡1 172｡16｡0｡1 192｡168｡1｡1 169｡254｡169｡254 100｡100｡100｡200 0｡0｡0｡0 198｡18｡0｡1 192｡0｡2｡1
    203｡0｡113｡7 224｡0｡0｡1 255｡255｡255｡255 8｡8｡8｡8
  `,
  circled: `
    ①②⑦.0.0.① ①0.0.0.① ①⑦②.①⑥.0.① ①⑨②.①⑥⑧.①.① ①⑥⑨.②⑤④.①⑥⑨.②⑤④ ①00.①00.①00.②00 0.0.0.0 ①⑨⑧.①⑧.0.① ①⑨②.0.②.①
    ②0③.0.①①③.⑦ ②②④.0.0.① ②⑤⑤.②⑤⑤.②⑤⑤.②⑤⑤ ⑧.⑧.⑧.⑧
  `,
  trailingDot: `
    127.0.0.1. 10.0.0.1. 172.16.0.1. 192.168.1.1. 169.254.169.254. 100.100.100.200. 0.0.0.0. 198.18.0.1. 192.0.2.1.
    203.0.113.7. 224.0.0.1. 255.255.255.255. 8.8.8.8.
  `,
  mapped: `
    [::ffff:127.0.0.1] [::ffff:10.0.0.1] [::ffff:172.16.0.1] [::ffff:192.168.1.1] [::ffff:169.254.169.254]
    [::ffff:100.100.100.200] [::ffff:0.0.0.0] [::ffff:198.18.0.1] [::ffff:192.0.2.1] [::ffff:203.0.113.7]
    [::ffff:224.0.0.1] [::ffff:255.255.255.255] [::ffff:8.8.8.8]
  `,
  mappedHex: `
    [::ffff:7f00:1] [::ffff:a00:1] [::ffff:ac10:1] [::ffff:c0a8:101] [::ffff:a9fe:a9fe] [::ffff:6464:64c8]
    [::ffff:0:0] [::ffff:c612:1] [::ffff:c000:201] [::ffff:cb00:7107] [::ffff:e000:1] [::ffff:ffff:ffff]
    [::ffff:808:808]
  `,
  mappedLong: `
    [0:0:0:0:0:FFFF:7F00:0001] [0:0:0:0:0:FFFF:0A00:0001] [0:0:0:0:0:FFFF:AC10:0001] [0:0:0:0:0:FFFF:C0A8:0101]
    [0:0:0:0:0:FFFF:A9FE:A9FE] [0:0:0:0:0:FFFF:6464:64C8] [0:0:0:0:0:FFFF:0000:0000] [0:0:0:0:0:FFFF:C612:0001]
    [0:0:0:0:0:FFFF:C000:0201] [0:0:0:0:0:FFFF:CB00:7107] [0:0:0:0:0:FFFF:E000:0001] [0:0:0:0:0:FFFF:FFFF:FFFF]
    [0:0:0:0:0:FFFF:0808:0808]
  `,
  compat: `
    [::127.0.0.1] [::10.0.0.1] [::172.16.0.1] [::192.168.1.1] [::169.254.169.254] [::100.100.100.200] [::0.0.0.0]
    [::198.18.0.1] [::192.0.2.1] [::203.0.113.7] [::224.0.0.1] [::255.255.255.255] [::8.8.8.8]
  `,
  compatHex: `
    [::7f00:1] [::a00:1] [::ac10:1] [::c0a8:101] [::a9fe:a9fe] [::6464:64c8] [::0:0] [::c612:1] [::c000:201]
    [::cb00:7107] [::e000:1] [::ffff:ffff] [::808:808]
  `,
  translated: `
    [::ffff:0:127.0.0.1] [::ffff:0:10.0.0.1] [::ffff:0:172.16.0.1] [::ffff:0:192.168.1.1] [::ffff:0:169.254.169.254]
    [::ffff:0:100.100.100.200] [::ffff:0:0.0.0.0] [::ffff:0:198.18.0.1] [::ffff:0:192.0.2.1] [::ffff:0:203.0.113.7]
    [::ffff:0:224.0.0.1] [::ffff:0:255.255.255.255] [::ffff:0:8.8.8.8]
  `,
  nat64: `
    [64:ff9b::127.0.0.1] [64:ff9b::10.0.0.1] [64:ff9b::172.16.0.1] [64:ff9b::192.168.1.1] [64:ff9b::169.254.169.254]
    [64:ff9b::100.100.100.200] [64:ff9b::0.0.0.0] [64:ff9b::198.18.0.1] [64:ff9b::192.0.2.1] [64:ff9b::203.0.113.7]
    [64:ff9b::224.0.0.1] [64:ff9b::255.255.255.255] [64:ff9b::8.8.8.8]
  `,
  nat64Local: `
    [64:ff9b:1::7f00:1] [64:ff9b:1::a00:1] [64:ff9b:1::ac10:1] [64:ff9b:1::c0a8:101] [64:ff9b:1::a9fe:a9fe]
    [64:ff9b:1::6464:64c8] [64:ff9b:1::0:0] [64:ff9b:1::c612:1] [64:ff9b:1::c000:201] [64:ff9b:1::cb00:7107]
    [64:ff9b:1::e000:1] [64:ff9b:1::ffff:ffff] [64:ff9b:1::808:808]
  `,
  sixToFour: `
    [2002:7f00:1::1] [2002:a00:1::1] [2002:ac10:1::1] [2002:c0a8:101::1] [2002:a9fe:a9fe::1] [2002:6464:64c8::1]
    [2002:0:0::1] [2002:c612:1::1] [2002:c000:201::1] [2002:cb00:7107::1] [2002:e000:1::1] [2002:ffff:ffff::1]
    [2002:808:808::1]
  `,
  teredo: `
    [2001:0:4136:e378:8000:63bf:80ff:fffe] [2001:0:4136:e378:8000:63bf:f5ff:fffe]
    [2001:0:4136:e378:8000:63bf:53ef:fffe] [2001:0:4136:e378:8000:63bf:3f57:fefe]
    [2001:0:4136:e378:8000:63bf:5601:5601] [2001:0:4136:e378:8000:63bf:9b9b:9b37]
    [2001:0:4136:e378:8000:63bf:ffff:ffff] [2001:0:4136:e378:8000:63bf:39ed:fffe]
    [2001:0:4136:e378:8000:63bf:3fff:fdfe] [2001:0:4136:e378:8000:63bf:34ff:8ef8]
    [2001:0:4136:e378:8000:63bf:1fff:fffe] [2001:0:4136:e378:8000:63bf:0:0] [2001:0:4136:e378:8000:63bf:f7f7:f7f7]
  `,
  isatap: `
    [fe80::5efe:127.0.0.1] [fe80::5efe:10.0.0.1] [fe80::5efe:172.16.0.1] [fe80::5efe:192.168.1.1]
    [fe80::5efe:169.254.169.254] [fe80::5efe:100.100.100.200] [fe80::5efe:0.0.0.0] [fe80::5efe:198.18.0.1]
    [fe80::5efe:192.0.2.1] [fe80::5efe:203.0.113.7] [fe80::5efe:224.0.0.1] [fe80::5efe:255.255.255.255]
    [fe80::5efe:8.8.8.8]
  `,
};

const IP_OTHERS = {
  short: '127.1 127.0.1 0177.1 0x7f.1 10.1 192.168.257 0 0.0 0x 0x0.0x0 00 1 16777343 0x7f.0x1 127.0x1 017700000001.',
  upperCase: '0X7F000001 0X7F.0X0.0X0.0X1 0XA9FEA9FE [::FFFF:7F00:1] [FE80::1] [FD00:EC2::254] [2001:DB8::1]',
  ipv6: `
    [::] [::1] [0:0:0:0:0:0:0:0] [0:0:0:0:0:0:0:1] [0000:0000:0000:0000:0000:0000:0000:0001] [fd00:ec2::254] [fc00::1]
    [fd12:3456:789a::1] [fe80::1] [febf::1] [fec0::1] [ff02::1] [ff05::1:3] [100::1] [2001:db8::1] [3fff::1] [5f00::1]
    [2001:2::1] [2001:10::1] [2001:20::1] [2620:4f:8000::1] [2606:4700:4700::1111] [2001:4860:4860::8888] [fe80::a9fe:a9fe]
  `,
  metadata: '169.254.170.2 169.254.169.253 168.63.129.16 192.0.0.192 100.100.100.200 [fd20:ce::254] [fd00:42::42]',
};

/** Hosts that the URL parser rejects. */
const BROKEN_HOSTS = {
  numbers:
    '1.2.3.4.5 256.256.256.256 127.0.0.256 0x7f.1.1.1.1 4294967296 0x100000000 09.1 a.1 example.com.1 foo.0x 1.2.3.08',
  brackets: '[::1 ::1] [127.0.0.1] [::ffff:999.0.0.1] [] [::g] [1:2:3:4:5:6:7:8:9] [localhost]',
  punctuation: 'exa<mple.com exam|ple.com exa^mple.com ex[ample.com a:b:c.com',
  unicode: '＠example.com a：b.com example．com／x ٣.٣.com \u200d.com',
};

const BAD_NAMES = {
  dots: 'example.com. example.com.. a..com .example.com .. example.com。 example.com． example.com｡ 。example.com a。。com',
  emptyAfterNormalisation: '\u00ad.com a.\u00ad a.\u200b.com',
  topLevel: '0。- 0．- 0｡- 0.- ①.- a.- a.-- a._ a.__ a.1- a.-1 a.0-0 a.1e a.0xg a.08a a.a- a.-a a.b_ a.c1 a.x 1.2.3.4-',
  characters: "a.com,b.com a!.com a$b.com a(b).com a*b.com a+b.com a;b.com a=b.com a'b.com a~b.com a{b}.com a`b.com",
};

const SINGLE_LABELS =
  'localhost LOCALHOST LocalHost ⓛⓞⓒⓐⓛⓗⓞⓢⓣ ｌｏｃａｌｈｏｓｔ loc\u00adalhost metadata instance-data router kubernetes internal com db gateway postgres';

const SPECIAL_USE_HOSTS = {
  localhost: 'a.localhost localhost.localdomain app.LOCALHOST x.y.localhost a.ｌｏｃａｌｈｏｓｔ a。localhost',
  metadata: 'metadata.google.internal METADATA.GOOGLE.INTERNAL metadata.internal instance-data.ec2.internal',
  clusters:
    'kubernetes.default.svc.cluster.local redis.default.svc.cluster.local host.docker.internal gateway.docker.internal',
  networks: 'printer.local nas.lan wiki.corp www.intranet router.home.arpa a.home.arpa nas.home db.private x.internal',
  reserved: 'a.test www.example a.b.example x.invalid abcdefghij234567.onion a.alt ip-10-0-0-1.ec2.internal',
};

const PORTS = '1 22 25 80 442 444 465 3306 5432 6379 8000 8080 8443 9200 11211 65535';

const CREDENTIALS = [
  'user@example.com',
  'user:password@example.com',
  ':password@example.com',
  '@example.com',
  ':@example.com',
  'example.com@127.0.0.1',
  'example.com:443@127.0.0.1',
  '127.0.0.1@example.com',
  'example.com@[::1]',
  'a@b@example.com',
  'example.com%40127.0.0.1@example.com',
  'user%3Apassword@example.com',
  'localhost@example.com:443',
];

const ENCODED = [
  '[::1%25eth0]',
  '[fe80::1%eth0]',
  '%31%32%37.0.0.1',
  '127%2e0%2e0%2e1',
  'localhos%74',
  'example%2ecom',
  'example%E3%80%82com',
  'example%EF%BC%8Ecom',
  'example.%63om',
  'example.com%2e',
  'example.com%00.evil.com',
  'example.com%0d%0a.evil.com',
  'example.com%2f.evil.com',
  'example.com%23.evil.com',
  'example.com%5c.evil.com',
  '%65xample.com',
  'example.com%2540evil.com',
];

const SCHEMES = [
  'http://example.com/',
  'HTTP://example.com/',
  'http://example.com:443/',
  'http://127.0.0.1/',
  'http://169.254.169.254/latest/meta-data/',
  'ftp://example.com/x',
  'ftps://example.com/x',
  'sftp://example.com/x',
  'ws://example.com/',
  'wss://example.com/',
  'file:///etc/passwd',
  'file://example.com/etc/passwd',
  'gopher://example.com:70/_x',
  'dict://example.com:11211/stat',
  'ldap://example.com/',
  'data:image/png;base64,AAAA',
  'blob:https://example.com/0b5c',
  'javascript:alert(1)',
  'about:blank',
  'mailto:a@example.com',
  'jar:https://example.com/x!/y',
  'view-source:https://example.com/',
  'https+unix://example.com/',
  'unix:/var/run/docker.sock',
  'npipe:////./pipe/docker_engine',
  'gs://bucket/object',
  's3://bucket/object',
  'netdoc:///etc/passwd',
  'url:https://example.com/',
  '//example.com/x',
  '/x',
  'example.com',
  'example.com/x',
  'https',
  'https:',
  'https:/',
  'https://',
  'https:///',
  'https://?x',
  'https://#x',
  'https:example.com',
  'https:/example.com',
  'https:///example.com',
  'https:////example.com',
  'https//example.com',
  'https;//example.com',
  'hhttps://example.com',
  'ｈttps://example.com',
  '\ufeffhttps://example.com',
  'null',
  'undefined',
  '',
];

const UNSAFE = [
  ' https://example.com/',
  'https://example.com/ ',
  '\thttps://example.com/',
  'https://example.com/\n',
  '\0https://example.com/',
  'ht\ntps://example.com/',
  'https:/\t/example.com/',
  'https://exam\nple.com/',
  'https://exam\rple.com/',
  'https://exam\tple.com/',
  'https://example.com\r\nhost: evil.com',
  'https://example.com/\r\nx: y',
  'https://example.com/\0',
  'https://example.com/\x01',
  'https://example.com/\x1b[0m',
  'https://example.com/\x7f',
  'https://example.com/\x80',
  'https://example.com/\x9f',
  'https://example.com/\xa0',
  'https://example.com/a b',
  'https://exam ple.com/',
  'https://example.com/\u2028',
  'https://example.com/\u2029',
  'https://example.com/\u3000',
  'https://example.com/\ud800',
  'https://example.com/\udc00x',
  'https:\\\\example.com\\x',
  'https:/\\example.com/',
  'https://example.com\\@127.0.0.1/',
  'https://example.com\\.evil.com/',
  'https://127.0.0.1\\@example.com/',
  'https://example.com/a\\b',
  'https://example.com/?a\\b',
  '\\\\example.com\\share',
  'https://user\\@example.com/',
];

const LONG = [
  `https://example.com/${'a'.repeat(2_029)}`,
  `https://example.com/${'é'.repeat(1_015)}`,
  `https://example.com/${'é'.repeat(400)}`,
  `https://example.com/?${'a'.repeat(100_000)}`,
  `https://${'a'.repeat(3_000)}.com/`,
];

const LONG_NAMES = [
  `${'a'.repeat(64)}.com`,
  `x.${'b'.repeat(70)}.example.org`,
  `${'a.'.repeat(126)}ab.com`,
  `${'abcdefgh.'.repeat(30)}com`,
];

const splitWords = (text: string): string[] => text.trim().split(/\s+/);
const all = (table: Readonly<Record<string, string>>): string[] => Object.values(table).flatMap(splitWords);
const urlsFor = (hosts: readonly string[]): string[] => hosts.map((host) => `https://${host}/x.png`);

/** Grouped by the message of the rejection. */
export const REJECTED_URLS: readonly (readonly [message: RegExp, urls: readonly string[]])[] = [
  [/must name a host, not an IP address/, urlsFor([...all(IP_SPELLINGS), ...all(IP_OTHERS)])],
  [/not a valid URL/, urlsFor(all(BROKEN_HOSTS))],
  [/not a valid name/, urlsFor([...all(BAD_NAMES), ...LONG_NAMES])],
  [/must be a full domain name/, urlsFor(splitWords(SINGLE_LABELS))],
  [/not a public name/, urlsFor(all(SPECIAL_USE_HOSTS))],
  [/must use port 443/, splitWords(PORTS).map((port) => `https://example.com:${port}/x.png`)],
  [/user name or password/, urlsFor(CREDENTIALS)],
  [/percent-encoded/, urlsFor(ENCODED)],
  [/must start with https:/, SCHEMES],
  [/spaces, control characters or backslashes/, UNSAFE],
  [/longer than 2048 bytes/, LONG],
];

/** Accepted URLs with their normalised form. */
export const ACCEPTED_URLS: readonly (readonly [url: string, href: string])[] = [
  ['https://example.com', 'https://example.com/'],
  ['HTTPS://EXAMPLE.COM/A', 'https://example.com/A'],
  ['https://example.com:443/a', 'https://example.com/a'],
  ['https://example.com:/a', 'https://example.com/a'],
  ['https://example.com?a=b', 'https://example.com/?a=b'],
  ['https://example.com/a?b=c#d', 'https://example.com/a?b=c#d'],
  ['https://example.com/a@b', 'https://example.com/a@b'],
  ['https://example.com/?u=http://127.0.0.1/', 'https://example.com/?u=http://127.0.0.1/'],
  ['https://example.com/a/../b', 'https://example.com/b'],
  ['https://example.com/a%20b', 'https://example.com/a%20b'],
  ['https://example.com/ü.png', 'https://example.com/%C3%BC.png'],
  ['https://bücher.de/x', 'https://xn--bcher-kva.de/x'],
  ['https://例え.jp/x', 'https://xn--r8jz45g.jp/x'],
  ['https://example。com/x', 'https://example.com/x'],
  ['https://example．com/x', 'https://example.com/x'],
  ['https://example｡com/x', 'https://example.com/x'],
  ['https://exam\u00adple.com/x', 'https://example.com/x'],
  ['https://例え.みんな/x', 'https://xn--r8jz45g.xn--q9jyb4c/x'],
  ['https://my_bucket.s3.amazonaws.com/k', 'https://my_bucket.s3.amazonaws.com/k'],
  ['https://r5---sn-abc.media.net/v', 'https://r5---sn-abc.media.net/v'],
  ['https://a.b.c.d.e.example.org/', 'https://a.b.c.d.e.example.org/'],
  ['https://127.0.0.1.nip.io/', 'https://127.0.0.1.nip.io/'],
  ['https://1.2.3.4.com/', 'https://1.2.3.4.com/'],
  ['https://local.com/', 'https://local.com/'],
  ['https://mylocalhost.net/', 'https://mylocalhost.net/'],
  ['https://internal.example.com/', 'https://internal.example.com/'],
  ['https://notlocal.dev/', 'https://notlocal.dev/'],
  [`https://${'a'.repeat(63)}.com/`, `https://${'a'.repeat(63)}.com/`],
  [`https://example.com/${'a'.repeat(2_028)}`, `https://example.com/${'a'.repeat(2_028)}`],
];

/** Resolver results that the gateway must never connect to. */
export const NON_PUBLIC_ADDRESSES: readonly string[] = splitWords(`
  0.0.0.0 0.0.0.1 0.255.255.255 10.0.0.0 10.0.0.1 10.255.255.255 100.64.0.0 100.64.0.1 100.100.100.200 100.127.255.255
  127.0.0.0 127.0.0.1 127.0.1.1 127.255.255.255 168.63.129.16 169.254.0.1 169.254.169.254 169.254.170.2 169.254.255.255
  172.16.0.0 172.16.0.1 172.31.255.255 192.0.0.0 192.0.0.8 192.0.0.170 192.0.0.192 192.0.2.0 192.0.2.255 192.31.196.1
  192.52.193.1 192.88.99.1 192.168.0.0 192.168.1.1 192.168.255.255 192.175.48.1 198.18.0.0 198.19.255.255 198.51.100.1
  203.0.113.1 203.0.113.255 224.0.0.1 239.255.255.250 239.255.255.255 240.0.0.1 254.255.255.255 255.255.255.254
  255.255.255.255 :: ::1 0:0:0:0:0:0:0:1 ::2 ::7f00:1 ::127.0.0.1 ::8.8.8.8 ::808:808 ::ffff:127.0.0.1 ::ffff:7f00:1
  ::ffff:a9fe:a9fe ::ffff:8.8.8.8 ::FFFF:10.0.0.1 ::ffff:0:7f00:1 ::ffff:0:8.8.8.8 64:ff9b::7f00:1 64:ff9b::a9fe:a9fe
  64:ff9b::8.8.8.8 64:ff9b:1::1 64:ff9b:1:ffff::a00:1 64:ff9b:2::1 100::1 100:0:0:1::1 200::1 400::1 1000::1 1fff:ffff::1
  2001::1 2001:0:4136:e378:8000:63bf:3fff:fdd2 2001:1::1 2001:1::2 2001:2::1 2001:3::1 2001:4:112::1 2001:5::1 2001:10::1
  2001:1f::1 2001:20::1 2001:2f::1 2001:30::1 2001:1ff:ffff::1 2001:db8::1 2001:db8:ffff::1 2002:7f00:1::1
  2002:a9fe:a9fe::1 2002:808:808::1 2620:4f:8000::1 3fff::1 3fff:fff:ffff::1 4000::1 5f00::1 6000::1 8000::1 a000::1
  c000::1 e000::1 f000::1 f800::1 fc00::1 fc00::254 fd00:ec2::254 fd20:ce::254 fd12:3456:789a::1 fdff:ffff::1 fe00::1
  fe80::1 fe80::1%eth0 fe80::a9fe:a9fe febf:ffff::1 fec0::1 feff::1 ff00::1 ff02::1 ff02::fb ff05::1:3 ff0e::1
  ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff 2606:4700::1%eth0 127.1 2130706433 0x7f000001 0177.0.0.1 8.8.8 010.8.8.8 08.8.8.8
  1.2.3.4.5 256.1.1.1 8.8.8.8/32 8.8.8.8:443 [2606:4700::1] localhost example.com nonsense -
`);

export const PUBLIC_ADDRESSES: readonly string[] = splitWords(`
  1.1.1.1 8.8.8.8 9.255.255.255 11.0.0.0 93.184.215.14 100.63.255.255 100.128.0.0 126.255.255.255 128.0.0.0 168.63.129.15
  169.253.255.255 169.255.0.0 172.15.255.255 172.32.0.0 192.0.1.0 192.0.3.0 192.167.255.255 192.169.0.0 198.17.255.255
  198.20.0.0 198.51.99.255 198.51.101.0 203.0.112.255 203.0.114.0 223.255.255.255 2000::1 2001:200::1 2001:4860:4860::8888
  2001:db7::1 2001:db9::1 2003::1 2606:4700:4700::1111 2620:4f:7fff::1 2a00:1450:4001::200e 2c0f:fb50::1 3ffe::1 3fff:1000::1
`);
