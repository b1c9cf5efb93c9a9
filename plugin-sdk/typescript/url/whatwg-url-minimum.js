function toUSVString(A) {
  return "string" == typeof A ? A : String(A);
}

const A = /[\ud800-\udbff](?![\udc00-\udfff])|(^|[^\ud800-\udbff])[\udc00-\udfff]/g;

function toWellFormed(e) {
  return e.replace(A, "$1�");
}

function toObject(A, e) {
  if ("object" != typeof A || null == A) {
    let A = "";
    A += "The provided value is not an object";
    throw new TypeError(A);
  }
  return A;
}

function toIterator(A) {
  if (null != A && ("object" == typeof A || "function" == typeof A)) {
    const e = A[Symbol.iterator];
    if (null == e) {
      return;
    }
    if ("function" != typeof e) {
      throw new TypeError("The provided value is not iterable");
    }
    const t = e.call(A);
    if (!t || "object" != typeof t) {
      throw new TypeError("Result of the Symbol.iterator method is not an object");
    }
    return t;
  }
  return;
}

function toQueryPair(A) {
  let e;
  if (Array.isArray(A)) {
    const e = A.map(toUSVString);
    if (2 === e.length) {
      return e;
    }
  } else if (null != (e = toIterator(A))) {
    const A = toObject(e.next());
    const t = toObject(e.next());
    if (!A.done && !t.done) {
      return [ toUSVString(A.value), toUSVString(t.value) ];
    }
  }
  throw new TypeError("Each query pair must be an iterable [name, value] tuple");
}

const e = "0123456789ABCDEF";

const t = /(?:%[0-9A-Fa-f]{2})+/g;

function percentEncode(A) {
  return `%${e[A >> 4 & 15]}${e[15 & A]}`;
}

function utf8PercentEncodeScalar(A, e, t = !1) {
  if (A >= 55296 && A <= 57343) {
    A = 65533;
  }
  if (A <= 127) {
    if (t && 32 === A) {
      return "+";
    }
    return e(A) ? percentEncode(A) : String.fromCharCode(A);
  } else if (A <= 2047) {
    return percentEncode(192 | A >> 6) + percentEncode(128 | 63 & A);
  } else if (A <= 65535) {
    return percentEncode(224 | A >> 12) + percentEncode(128 | A >> 6 & 63) + percentEncode(128 | 63 & A);
  } else {
    return percentEncode(240 | A >> 18) + percentEncode(128 | A >> 12 & 63) + percentEncode(128 | A >> 6 & 63) + percentEncode(128 | 63 & A);
  }
}

function decodeHexDigit(A) {
  if (A >= 48 && A <= 57) {
    return A - 48;
  } else if (A >= 65 && A <= 70) {
    return A - 65 + 10;
  } else if (A >= 97 && A <= 102) {
    return A - 97 + 10;
  } else {
    return -1;
  }
}

function percentDecodeString(A, e = !1) {
  let n = 0;
  for (;n < A.length; n++) {
    const t = A.charCodeAt(n);
    if (37 === t || e && 43 === t) {
      break;
    }
  }
  if (n === A.length) {
    return A;
  }
  return (e ? A.replace(/\+/g, " ") : A).replace(t, A => {
    try {
      return decodeURIComponent(A);
    } catch {
      return "�".repeat(A.length / 3);
    }
  });
}

function isC0ControlPercentEncode(A) {
  return A <= 31 || A > 126;
}

function isFragmentPercentEncode(A) {
  switch (A) {
   case 32:
   case 34:
   case 60:
   case 62:
   case 96:
    return !0;

   default:
    return isC0ControlPercentEncode(A);
  }
}

function isQueryPercentEncode(A) {
  switch (A) {
   case 32:
   case 34:
   case 35:
   case 60:
   case 62:
    return !0;

   default:
    return isC0ControlPercentEncode(A);
  }
}

function isSpecialQueryPercentEncode(A) {
  return isQueryPercentEncode(A) || 39 === A;
}

function isPathPercentEncode(A) {
  switch (A) {
   case 63:
   case 94:
   case 96:
   case 123:
   case 125:
    return !0;

   default:
    return isQueryPercentEncode(A);
  }
}

function isUserinfoPercentEncode(A) {
  switch (A) {
   case 47:
   case 58:
   case 59:
   case 61:
   case 64:
   case 91:
   case 92:
   case 93:
   case 124:
    return !0;

   default:
    return isPathPercentEncode(A);
  }
}

function isURLEncodedPercentEncode(A) {
  switch (A) {
   case 33:
   case 39:
   case 40:
   case 41:
   case 126:
    return !0;

   default:
    return function isComponentPercentEncode(A) {
      switch (A) {
       case 36:
       case 37:
       case 38:
       case 43:
       case 44:
        return !0;

       default:
        return isUserinfoPercentEncode(A);
      }
    }(A);
  }
}

function utf8PercentEncodeCodePoint(A, e) {
  return utf8PercentEncodeScalar(A = A || 0, e);
}

function utf8PercentEncodeString(A, e, t = !1) {
  let n = 0;
  for (;n < A.length; n++) {
    const r = A.charCodeAt(n);
    if (r >= 128) {
      break;
    }
    if (t && 32 === r || e(r)) {
      break;
    }
  }
  if (n === A.length) {
    return A;
  }
  let r = A.slice(0, n);
  for (;n < A.length; n++) {
    const o = A.charCodeAt(n);
    let i = o;
    if (o >= 55296 && o <= 56319 && n + 1 < A.length) {
      const e = A.charCodeAt(n + 1);
      if (e >= 56320 && e <= 57343) {
        i = (o - 55296 << 10) + e - 56320 + 65536;
        n++;
      }
    }
    r += utf8PercentEncodeScalar(i, e, t);
  }
  return r;
}

function parseUrlencoded(A) {
  const e = [];
  let t = 0;
  let n = 0;
  while (n <= A.length) {
    n = A.indexOf("&", t);
    if (n < 0) {
      n = A.length;
    }
    if (n !== t) {
      const r = A.slice(t, n);
      let o = r.indexOf("=");
      if (o < 0) {
        o = r.length;
      }
      e.push([ percentDecodeString(r.slice(0, o), !0), percentDecodeString(r.slice(o + 1), !0) ]);
    }
    t = n + 1;
    if (n === A.length) {
      break;
    }
  }
  return e;
}

function serializeUrlencoded(A) {
  let e = "";
  for (let t = 0; t < A.length; t++) {
    const n = utf8PercentEncodeString(A[t][0], isURLEncodedPercentEncode, !0);
    const r = utf8PercentEncodeString(A[t][1], isURLEncodedPercentEncode, !0);
    e += 0 !== t ? `&${n}=${r}` : `${n}=${r}`;
  }
  return e;
}

const n = [ 2191, 2191, 3164, 3164, 3292, 3292, 6863, 6877, 6880, 6891, 8385, 8385, 11158, 11158, 42958, 42959, 42962, 42962, 42964, 42964, 42993, 42993, 64451, 64466, 64912, 64913, 64968, 64974, 67904, 67929, 69317, 69319, 69328, 69336, 69370, 69371, 72544, 72551, 73136, 73179, 73184, 73193, 93856, 93880, 93883, 93907, 94194, 94198, 100344, 100351, 101641, 101662, 101760, 101874, 118010, 118012, 118458, 118480, 118496, 118512, 124608, 124638, 124640, 124661, 124670, 124671, 128728, 128728, 128887, 128890, 129232, 129240, 129620, 129623, 129674, 129674, 129678, 129678, 129736, 129736, 129741, 129741, 129770, 129770, 129775, 129775, 130042, 130042, 177978, 177983, 183970, 183981, 205744, 210041 ];

const r = [ 7296, 7297, 7298, 7299, 7300, 7301, 7302, 7303, 7304, 42958, 42962, 42964, 42993 ];

const o = [ "в", "д", "о", "с", "т", "т", "ъ", "ѣ", "ꙋ", "꟏", "ꟓ", "ꟕ", "s" ];

const i = [ 2381, 2381, 2509, 2509, 2637, 2637, 2765, 2765, 2893, 2893, 3021, 3021, 3149, 3149, 3277, 3277, 3387, 3388, 3405, 3405, 3530, 3530, 3642, 3642, 3770, 3770, 3972, 3972, 4153, 4154, 5908, 5909, 5940, 5940, 6098, 6098, 6752, 6752, 6980, 6980, 7082, 7083, 7154, 7155, 11647, 11647, 43014, 43014, 43052, 43052, 43204, 43204, 43347, 43347, 43456, 43456, 43766, 43766, 44013, 44013, 68159, 68159, 69702, 69702, 69744, 69744, 69759, 69759, 69817, 69817, 69939, 69940, 70080, 70080, 70197, 70197, 70378, 70378, 70477, 70477, 70606, 70608, 70722, 70722, 70850, 70850, 71103, 71103, 71231, 71231, 71350, 71350, 71467, 71467, 71737, 71737, 71997, 71998, 72160, 72160, 72244, 72244, 72263, 72263, 72345, 72345, 72767, 72767, 73028, 73029, 73111, 73111, 73537, 73538, 90415, 90415 ];

function containsInvalidDomainCodePoint(A) {
  for (let e = 0; e < A.length; e++) {
    const t = A.codePointAt(e);
    if (t > 65535) {
      e++;
    }
    if (t <= 32 || 37 === t || 127 === t || t >= 55296 && t <= 57343 || t >= 128 && t <= 159 || t >= 64976 && t <= 65007 || !(65534 & ~t) || 65533 === t) {
      return !0;
    }
  }
  return !1;
}

const [s, c, l, u] = [ [ [], "0,6,7,8,m,w,10,1b,1d,1f,72,73,7k,8k,dt,2rk", "AAAAAAAAAAAAAAAAAAAAAP////8AAAAAAAAAAAAAAAA/AAAQAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAgAAAAAACAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAwAAAAAAAAAAAAQAAAAAAAAAAAAAAAAAAAAAAAAAAQAAAAAAAAAAAAAAAAAAAADAAABwfwAAAAAAAMADAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAD//w8AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAD//wAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAgAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAhAAAAQAAAAAAAAQCAAABAAAABAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA+AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAgACAAAAAAAAAAAAAAAAD//wAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAEAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAgAAAP///////////////wAAAAAAAAAAAAAAAAAAAAA=" ], [ [], "6,7,8,o,4o,7e,7f,7h,7i,7j,dl", "AAAAAEF9+P/+BwAAAMAA//8AAPz/////BlADAAAAAJwAAPz///8AAADA//H/5+X8AAAAAAAAAAAA/P///wcAAAAAAAAAAAAAPv0vAD0BAABA/gAA/5/5/f8BAAAAAAAAgAAAAP//////////////AYD/////BQAAAAAAAAAAAAAAAAAAAAAAAP///////wcAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAD8g+N8B+AAAAAAAAAAAAAAAAAAAAAAAAP//AwAAYAAAAAAAAAAAAAD/////CwAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAANgAAAAAAAAAAAAAAAAA//8fAB4AAAD//wMAAAAAAH3/HgwAAAAAAAD//////////w8AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA==" ], [ [], "6,7,8,o,4o,7e,7f,7h,7i,7j,dl", "AAAAAP3////+BwAAAMDu//////////////8vAADAAJwAAP3///8AAADg////////AAAAAAAAAAAA/P///wcAAAAAAAAAAAAA////Ab0H//9H/gAA/9////8BAAAAAAAAgAAAAP//////////////AYD/////BQAAAAAAAAAAAAAAAAAAAAAAAP///////wcAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAL/G//8T+AAAAAAAAAAAAAAAAAAAAAAAAP//AwAAfgAAAAAAAAAAAAD+////DwAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAANwAAAAAAAAAAAAAAAAA//8fAB4AAAD//wMAAAAAAH3/Hg4AAAAAAAD//////////w8AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA==" ], [ [], "0,3,4,5,6,7,8,9,a,b,c,d,e,f,g,j,n,o,p,q,r,s,t,w,18,19,1c,4m,4o,4p,4q,4r,6z,72,73,75,76,77,7e,7h,7i,7j,7k,7l,7m,7n,7o,7p,7q,7r,7s,7t,7u,7v,7w,7x,7y,7z,8k,9t,a2,a3,a7,cc,cv,cx,cy,d6,dc,dd,de,dg,dh,di,dk,dl,2rk,2rl", "AAAAAAAAAAAAAAAAAAAAAAAAAAAAIAAAAAAAAAAAAAD//////////////////wAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAD4AwAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA/v////+/tgAAAAAAAAAAAP8XAAAAAAD4//8AAAEAAAAAAAAAAAAAAMCfnz0AAACAAgAAAP///wcAAAAAAAAAAAAAwP8BAAAAAAAA+A8gAADA++8+AAAAAAAOAAAAAAAAgP8AAAAAAPz///v///8HAAAAAAAAFP4h/gAMAAAAAgAAAAAAABAeIAAADAAAQAYAAAAAAAAQhjkCAAAAIwAGAAAAAAAAEL4hAAAMAAD8AgAAAAAAAJAeIGAADAAAAAQAAAAAAAAAASAAAAAAAAARAAAAAAAA0ME9YAAMAAAAAgAAAAAAAJBAMAAADAAAAAMAAAAAAAAYHiAAAAwAAAACAAAAAAAAAAAEXAAAAAAAAAAAAAAA8geAfwAAAAAAAAAAAAAAAPIfAH8AAAAAAAAAAAADAACgAgAAAAAAAP5/3+D//v///x9AAAAAAAAAAAAAAAAA4P1mAAAAwwEAHgBkIAAgAAAAAAAAAAAAAAAAAAAAAAAAAAAAAADgAAAAAAAAAAAAAAAAAAAAAAAAAAAAABwAAAAMAAAADAAAAAwAAAAAAAAAsD9A/g8gAAAAAAC4AAAAAAAAAAAAAAAAAABgAAAAAAIAAAAAAAAAAAAAAAAAAIcBBA4AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAIAJAAAAAAAAQH/lH/ifAAAAAAAA//////8//w8AAA8AAAAAANAXBAAAAAD4DwADAAAAPDsAAAAAAABAowMAAAAAAADwzwAAAAAAAAAAAAAAAAAAAAAAAAD3//0hEAMAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAD//////////wDIAAAAfAAAAAAAAB/8AAAAAAAAAAAAAAAA/////wEAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAACAAwAAAAAAAAAAAAAAAAAAAACAAAAAAAAAAAAAAAAA/////wAAAAAAPAAAAAAAAAAAAAAAAAAGAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAID3PwAAAMAAAAAAAAAAAAAAAwBECAAAYBAAAAAAAAAAAAAAAAAAAAAAAAAwAAAA//8DgAAAAADAPwAAgP8DAAAAAAAHAAAAAADIMwAAAAAgAAAAAAAAAAB+ZgAIEAAAAAAAEAAAAAAAAJ3BAgAAAAAwQAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAICEAAAAAAEAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA//8AAP//AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAIAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAADgAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAgAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAEAAAAAAAAAAAAAAAAAAAAAAMAHAAAAAAAAAAAAAAAAAAAAAG7wAAAAAACHAAAAAAAAAAAAAAAAAAAAAAAAAABgAAAAAAAAAPAAAAAAAAAAAD4AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAYAAAAAAAAAAAA/AAAAAAAAAAAwP8BAAAAAAA8AAAAAAAAAAAAAAAAAAAAAgAAAAAAAP9/AAAAAAAZgAMAAAAAAHgGBAAAAAAAAAAHAAAAgO8fAAAAAAAAAAgAAwAAAAAAwH8AngAAAAAAAAAAAAAAgNNAAgAAAAAAAAAAAAAAAAAAAAAAAID4BwAAAwAAAAAAABgBAAAAwB8fAAAAAAAAAAD4AUAFAAYAAAAAAAAAAAAA/1wAAEAAAAAAAAAAAAAA+IUNAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA8sAEAADAAAAAAAAAAAAAA+KcBAAAAAAAAAAAAAAAAKL8AAAAAAAAAAAAAAACgvA8AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAgP8GAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAFgIAAAAAAAAAAAAAAAAAAAAAADwDAEAAAD+BwAAAAD4eYAAfg4AAAAAAPx/AwAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAF0AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAf78AAAAAAAAAAAAA/P///G0AAAAAAAAAAAAAAAAAAAB+tL8AAAAAAAAAAACjAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAABgAAwAAAAAAwAcFAAAEAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAD//4H/PwAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAMD/4wAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAHwAAAAAAAAB/AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAIAAAAAAAAAAgAcAAAAAAAAAAAAQAAAAAAAAAAAAAAAAAAAAAAAAAAAAAGAPAAAAAAAAAAAAAAD//////z///38AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAIAD+P/nDwAAADwAAAAAAAAAAAAAAAAAAAAAAAAcAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAD///////9/+P//////HyAAEAAA+P7/AAAAAAAAAAAAAH////nbBwAAAAAAAAAAAAAAgAAAAAAAAAAAAAAAAAAAAAAAAAAAfwAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAABAAAAAAAAAAPAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA8AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAADAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAASMAgAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAfwAAAAAAAAAAAAAAAADwDwAAAAAAAAAAAAAAAAAAAAAAAAAAAAACAAAA////////////////AAAAAAAAAAAAAAAAAAAAAP///////////////////////////////////////wAA" ] ].map(function prepareBitmap([A, e, t]) {
  return [ A, e.split(",").map(A => parseInt(A, 36)), Uint8Array.from(atob(t), A => A.charCodeAt(0)) ];
});

function mapIDNACodePoint(A, e) {
  if (931 === e || 1010 === e || 120531 === e || 120589 === e || 120647 === e || 120705 === e || 120763 === e) {
    return "σ";
  } else if (e >= 5112 && e <= 5117) {
    return String.fromCodePoint(e - 8);
  } else if (e >= 43888 && e <= 43967) {
    return String.fromCodePoint(e - 38864);
  } else if (e >= 93856 && e <= 93880) {
    return String.fromCodePoint(e + 27);
  } else if (837 === e || 890 === e || e >= 8064 && e <= 8111 || e >= 8114 && e <= 8188) {
    return A.normalize("NFD").replace(/\u0345/g, "ι").normalize("NFC").toLowerCase();
  } else {
    return "";
  }
}

function hasCodePointInRanges(A, e) {
  for (let t = 0; t < A.length; t += 2) {
    if (e >= A[t] && e <= A[t + 1]) {
      return !0;
    }
  }
  return !1;
}

function hasCodePointInBitmap(A, e) {
  const [t, n, r] = A;
  const o = e >> 8;
  for (let A = 0; A < t.length; A += 2) {
    if (o >= t[A] && o <= t[A + 1]) {
      return !0;
    }
  }
  const i = n.indexOf(o);
  if (i < 0) {
    return !1;
  }
  const s = 255 & e;
  return !!(r[32 * i + (s >> 3)] & 1 << (7 & s));
}

function hasValidJoiners(A) {
  const e = Array.from(A, A => A.codePointAt(0));
  for (let A = 0; A < e.length; A++) {
    const t = e[A];
    if (8204 !== t && 8205 !== t) {
      continue;
    }
    if (A > 0 && hasCodePointInRanges(i, e[A - 1])) {
      continue;
    }
    if (8205 === t) {
      return !1;
    }
    let n = A - 1;
    while (n >= 0 && hasCodePointInBitmap(u, e[n])) {
      n--;
    }
    let r = A + 1;
    while (r < e.length && hasCodePointInBitmap(u, e[r])) {
      r++;
    }
    if (n >= 0 && r < e.length && hasCodePointInBitmap(c, e[n]) && hasCodePointInBitmap(l, e[r])) {
      continue;
    }
    return !1;
  }
  return !0;
}

const a = /(?![\p{Mark}\p{Decimal_Number}])[\p{Script=Arabic}\p{Script=Hebrew}]/u;

const f = /\p{Script=Latin}/u;

function hasValidBidi(A) {
  return !a.test(A) || !f.test(A);
}

const d = 36;

const h = 1;

const P = 26;

const p = 38;

const g = 700;

const m = 72;

const S = 128;

const w = 2147483647;

function digitToBasic(A) {
  return String.fromCharCode(A + 22 + 75 * Number(A < 26));
}

function adapt(A, e, t) {
  let n = 0;
  A = t ? Math.floor(A / g) : A >> 1;
  A += Math.floor(A / e);
  for (;A > (d - h) * P >> 1; n += d) {
    A = Math.floor(A / (d - h));
  }
  return Math.floor(n + (d - h + 1) * A / (A + p));
}

function encodePunycode(A) {
  const e = Array.from(A, A => A.codePointAt(0));
  let t = "";
  let n = 0;
  for (let A = 0; A < e.length; A++) {
    const r = e[A];
    if (r < 128) {
      t += String.fromCharCode(r);
      n++;
    }
  }
  const r = n;
  if (r) {
    t += "-";
  }
  let o = S;
  let i = 0;
  let s = m;
  while (n < e.length) {
    let A = w;
    for (let t = 0; t < e.length; t++) {
      const n = e[t];
      if (n >= o && n < A) {
        A = n;
      }
    }
    i += (A - o) * (n + 1);
    o = A;
    for (let A = 0; A < e.length; A++) {
      const c = e[A];
      if (c < o) {
        i++;
      }
      if (c === o) {
        let A = i;
        for (let e = d; ;e += d) {
          const n = e <= s ? h : e >= s + P ? P : e - s;
          if (A < n) {
            break;
          }
          t += digitToBasic(n + (A - n) % (d - n));
          A = Math.floor((A - n) / (d - n));
        }
        t += digitToBasic(A);
        s = adapt(i, n + 1, n === r);
        i = 0;
        n++;
      }
    }
    i++;
    o++;
  }
  return t;
}

function parseIPv4Number(A) {
  let e = 10;
  if (A.length >= 2 && "0" === A[0] && ("x" === A[1] || "X" === A[1])) {
    A = A.slice(2);
    e = 16;
  } else if (A.length >= 2 && "0" === A[0]) {
    A = A.slice(1);
    e = 8;
  } else if ("" === A) {
    return -1;
  }
  let t = 0;
  for (let n = 0; n < A.length; n++) {
    const r = decodeHexDigit(A.charCodeAt(n));
    if (r >= e || r < 0) {
      return -1;
    }
    t = t * e + r;
  }
  return t;
}

function isSingleDot(A) {
  switch (A) {
   case ".":
   case "%2e":
   case "%2E":
    return !0;

   default:
    return !1;
  }
}

function isWindowsDriveLetterCodePoints(A, e) {
  return (A >= 65 && A <= 90 || A >= 97 && A <= 122) && (58 === e || 124 === e);
}

function isWindowsDriveLetterString(A) {
  return 2 === A.length && isWindowsDriveLetterCodePoints(A.codePointAt(0), A.codePointAt(1));
}

function containsForbiddenHostCodePoint(A) {
  return -1 !== A.search(/\u0000|\u0009|\u000A|\u000D|\u0020|#|\/|:|<|>|\?|@|\[|\\|\]|\^|\|/u);
}

function isSpecial(A) {
  switch (A) {
   case "ftp":
   case "http":
   case "https":
   case "ws":
   case "wss":
   case "file":
    return !0;

   default:
    return !1;
  }
}

function defaultPort(A) {
  switch (A) {
   case "ftp":
    return 21;

   case "http":
   case "ws":
    return 80;

   case "https":
   case "wss":
    return 443;

   default:
    return null;
  }
}

function parseHost(A, e) {
  if ("[" === A[0]) {
    return "]" === A[A.length - 1] ? function parseIPv6(A) {
      const e = [ 0, 0, 0, 0, 0, 0, 0, 0 ];
      let t = null;
      let n = 0;
      let r = 0;
      const o = Array.from(A, A => A.codePointAt(0));
      if (58 === o[r]) {
        if (58 !== o[r + 1]) {
          return null;
        }
        r += 2;
        n++;
        t = n;
      }
      while (r < o.length) {
        if (8 === n) {
          return null;
        } else if (58 === o[r]) {
          if (null !== t) {
            return null;
          }
          r++;
          n++;
          t = n;
          continue;
        }
        let A = 0;
        let i = 0;
        let s = 0;
        while (s < 4 && (A = decodeHexDigit(o[r])) >= 0) {
          i = (i << 4) + A;
          r++;
          s++;
        }
        if (46 === o[r]) {
          if (0 === s) {
            return null;
          }
          if (n > 6) {
            return null;
          }
          r -= s;
          let A = 0;
          while (void 0 !== o[r]) {
            let t = 0;
            if (A > 0) {
              if (46 === o[r] && A < 4) {
                r++;
              } else {
                return null;
              }
            }
            if (null == o[r] || o[r] < 48 || o[r] > 57) {
              return null;
            }
            while (o[r] >= 48 && o[r] <= 57) {
              t = 10 * t + decodeHexDigit(o[r]);
              if (t > 255) {
                return null;
              }
              r++;
            }
            e[n] = 256 * e[n] + t;
            A++;
            if (A % 2 == 0) {
              n++;
            }
          }
          if (4 !== A) {
            return null;
          }
          break;
        } else if (58 === o[r]) {
          if (void 0 === o[++r]) {
            return null;
          }
        } else if (void 0 !== o[r]) {
          return null;
        }
        e[n] = i;
        n++;
      }
      if (null !== t) {
        let A = n - t;
        n = 7;
        while (0 !== n && A > 0) {
          const r = e[t + A - 1];
          e[t + A - 1] = e[n];
          e[n] = r;
          n--;
          A--;
        }
      } else if (null === t && 8 !== n) {
        return null;
      }
      return e;
    }(A.substring(1, A.length - 1)) : null;
  } else if (e) {
    return function parseOpaqueHost(A) {
      return !containsForbiddenHostCodePoint(A) ? utf8PercentEncodeString(A, isC0ControlPercentEncode) : null;
    }(A);
  } else {
    const e = function normalizeDomain(A) {
      let e = !1;
      let t = !1;
      for (let n = 0; n < A.length; n++) {
        const r = A.charCodeAt(n);
        if (r <= 32 || 37 === r || 127 === r) {
          return null;
        }
        if (r >= 128) {
          e = !0;
          break;
        }
        if (r >= 65 && r <= 90) {
          t = !0;
        }
      }
      if (!e) {
        return "" !== A ? t ? A.toLowerCase() : A : null;
      }
      if (function hasDisallowedIDNACodePoint(A) {
        for (const e of A) {
          const A = e.codePointAt(0);
          if (/[\p{Cn}\p{Co}\p{Cs}\p{Noncharacter_Code_Point}]/u.test(e) && !hasCodePointInRanges(n, A) || hasCodePointInBitmap(s, A)) {
            return !0;
          }
        }
        return !1;
      }(A)) {
        return null;
      }
      const i = (A = function mapIDNADomain(A) {
        let e = "";
        for (const t of A) {
          const A = t.codePointAt(0);
          if (8204 !== A && 8205 !== A && /\p{Default_Ignorable_Code_Point}/u.test(t)) {
            continue;
          }
          const n = mapIDNACodePoint(t, A);
          if (n) {
            e += n;
            continue;
          }
          const i = r.indexOf(A);
          e += i < 0 ? t : o[i];
        }
        return e;
      }(A).normalize("NFKC").replace(/[\u3002\uff0e\uff61]/g, ".").toLowerCase()).split(".");
      for (let A = 0; A < i.length; A++) {
        const e = i[A];
        if ("" === e) {
          continue;
        }
        const t = /[^\0-\x7f]/.test(e);
        if (containsInvalidDomainCodePoint(e) || t && (/^\p{Mark}/u.test(e) || !hasValidJoiners(e) || !hasValidBidi(e) || e.startsWith("xn--"))) {
          return null;
        }
        if (t) {
          i[A] = `xn--${encodePunycode(e)}`;
        }
      }
      return "" !== (A = i.join(".")) ? A : null;
    }(-1 === A.indexOf("%") ? A : percentDecodeString(A));
    if (null === e || containsForbiddenHostCodePoint(e)) {
      return null;
    } else if (function isIPv4(A) {
      let e = A.length;
      let t = A.lastIndexOf(".", e - 2) + 1;
      if (46 === A.charCodeAt(e - 1)) {
        e--;
      }
      if (e <= t) {
        return !1;
      }
      if (parseIPv4Number(A.slice(t, e)) >= 0) {
        return !0;
      }
      for (;t < e; t++) {
        const e = A.charCodeAt(t);
        if (e < 48 || e > 57) {
          return !1;
        }
      }
      return !0;
    }(e)) {
      return function parseIPv4(A) {
        const e = A.split(".");
        let t = e.length;
        if (!e[t - 1]) {
          t--;
        }
        if (t > 4) {
          return null;
        }
        let n = 0;
        for (let A = 0; A < t - 1; A++) {
          const t = parseIPv4Number(e[A]);
          if (t < 0 || t > 255) {
            return null;
          }
          n += t * (1 << 8 * (3 - A));
        }
        const r = parseIPv4Number(e[t - 1]);
        if (r < 0 || r >= 256 ** (5 - t)) {
          return null;
        }
        n += r;
        return n;
      }(e);
    } else {
      return e;
    }
  }
}

function serializeHost(A) {
  if ("number" == typeof A) {
    return function serializeIPv4(A) {
      const e = 255;
      let t = "";
      t += `${(A >>> 24 & e).toString(10)}.`;
      t += `${(A >>> 16 & e).toString(10)}.`;
      t += `${(A >>> 8 & e).toString(10)}.`;
      t += (A & e).toString(10);
      return t;
    }(A);
  } else if (Array.isArray(A)) {
    return `[${function serializeIPv6(A) {
      const e = function findTheIPv6AddressCompressedPieceIndex(A) {
        let e = -1;
        let t = -1;
        let n = 1;
        let r = 0;
        for (let o = 0; o < A.length; ++o) {
          if (0 !== A[o]) {
            if (r > n) {
              e = t;
              n = r;
            }
            t = -1;
            r = 0;
          } else {
            if (-1 === t) {
              t = o;
            }
            ++r;
          }
        }
        return r > n ? t : e;
      }(A);
      let t = "";
      let n = !1;
      for (let r = 0; r <= 7; ++r) {
        if (n && 0 === A[r]) {
          continue;
        } else if (n) {
          n = !1;
        }
        if (e === r) {
          t += 0 === r ? "::" : ":";
          n = !0;
          continue;
        }
        t += A[r].toString(16);
        if (7 !== r) {
          t += ":";
        }
      }
      return t;
    }(A)}]`;
  } else {
    return A;
  }
}

function shortenPath(A) {
  if (A.path.length > 0 && (1 !== A.path.length || "file" !== A.scheme || !function isNormalizedWindowsDriveLetter(A) {
    return /^[A-Za-z]:$/u.test(A);
  }(A.path[0]))) {
    A.path.pop();
  }
}

function includesCredentials(A) {
  return "" !== A.username || "" !== A.password;
}

function cannotHaveAUsernamePasswordPort(A) {
  return null === A.host || "" === A.host || "file" === A.scheme;
}

let U = 0;

let D = "";

let y = "";

let C = null;

let E;

let b = !1;

let I = !1;

let L = !1;

let v;

function parseURL(A, e, t, n) {
  if (!e) {
    A = function trimControlChars(A) {
      let e = 0;
      let t = A.length;
      for (;e < t; ++e) {
        if (A.charCodeAt(e) > 32) {
          break;
        }
      }
      for (;t > e; --t) {
        if (A.charCodeAt(t - 1) > 32) {
          break;
        }
      }
      return A.substring(e, t);
    }(A);
  }
  A = function trimTabAndNewline(A) {
    let e = 0;
    for (;e < A.length; e++) {
      const t = A.charCodeAt(e);
      if (9 === t || 10 === t || 13 === t) {
        break;
      }
    }
    if (e === A.length) {
      return A;
    }
    let t = A.slice(0, e);
    for (;e < A.length; e++) {
      const n = A.charCodeAt(e);
      if (9 !== n && 10 !== n && 13 !== n) {
        t += A[e];
      }
    }
    return t;
  }(A);
  U = 0;
  D = A;
  y = "";
  C = t || null;
  E = e || {
    scheme: "",
    username: "",
    password: "",
    host: null,
    port: null,
    path: [],
    query: null,
    fragment: null,
    opaquePath: !1
  };
  b = !1;
  I = !1;
  L = !1;
  v = n || 0;
  let r = parseSchemeStart;
  switch (n) {
   case 3:
   case 4:
    r = parseHostname;
    break;

   case 5:
    r = parsePort;
    break;

   case 6:
    r = parsePathStart;
    break;

   case 7:
    r = parseQuery;
    break;

   case 8:
    r = parseFragment;
  }
  return 1 !== r(codePointAt(A, U)) ? E : null;
}

function continueParse(A, e) {
  U += U === A ? codePointSize(e) : 1;
  return U <= D.length;
}

function codePointAt(A, e) {
  return e < A.length ? A.codePointAt(e) : void 0;
}

function codePointSize(A) {
  return null != A && A > 65535 ? 2 : 1;
}

function codePointToString(A) {
  if (null == A) {
    return "";
  }
  return A <= 65535 ? String.fromCharCode(A) : String.fromCodePoint(A);
}

const parseSchemeStart = A => {
  const e = U;
  if (null != A && (A >= 65 && A <= 90 || A >= 97 && A <= 122)) {
    let e = U + 1;
    A = D.charCodeAt(e);
    while (43 === A || 45 === A || 46 === A || A >= 65 && A <= 90 || A >= 97 && A <= 122 || A >= 48 && A <= 57) {
      e++;
      A = D.charCodeAt(e);
    }
    y = D.slice(U, e).toLowerCase();
    U = e;
    return parseScheme(e < D.length ? A : void 0);
  } else if (!v) {
    --U;
    return continueParse(e, A) ? parseNoScheme(codePointAt(D, U)) : 0;
  } else {
    return 1;
  }
};

const parseScheme = A => {
  const e = U;
  if (58 === A) {
    if (v) {
      if (isSpecial(E.scheme) !== isSpecial(y)) {
        return 0;
      } else if ((includesCredentials(E) || null !== E.port) && "file" === y) {
        return 0;
      } else if ("file" === E.scheme && "" === E.host) {
        return 0;
      }
    }
    E.scheme = y;
    if (v) {
      if (E.port === defaultPort(E.scheme)) {
        E.port = null;
      }
      return 0;
    }
    y = "";
    if ("file" === E.scheme) {
      return continueParse(e, A) ? parseFile(codePointAt(D, U)) : 0;
    } else if (isSpecial(E.scheme) && null !== C && C.scheme === E.scheme) {
      return continueParse(e, A) ? parseSpecialRelativeOrAuthority(codePointAt(D, U)) : 0;
    } else if (isSpecial(E.scheme)) {
      return continueParse(e, A) ? parseSpecialAuthoritySlashes(codePointAt(D, U)) : 0;
    } else if (47 === codePointAt(D, U + 1)) {
      U++;
      return continueParse(e, A) ? parsePathOrAuthority(codePointAt(D, U)) : 0;
    } else {
      E.path = [ "" ];
      E.opaquePath = !0;
      return continueParse(e, A) ? parseOpaquePath(codePointAt(D, U)) : 0;
    }
  } else if (!v) {
    y = "";
    U = -1;
    return continueParse(e, A) ? parseNoScheme(codePointAt(D, U)) : 0;
  } else {
    return 1;
  }
};

const parseNoScheme = A => {
  const e = U;
  if (null === C || C.opaquePath && 35 !== A) {
    return 1;
  } else if (C.opaquePath && 35 === A) {
    E.scheme = C.scheme;
    E.path = C.path.slice();
    E.opaquePath = C.opaquePath;
    E.query = C.query;
    E.fragment = "";
    return continueParse(e, A) ? parseFragment(codePointAt(D, U)) : 0;
  } else if ("file" === C.scheme) {
    U--;
    return continueParse(e, A) ? parseFile(codePointAt(D, U)) : 0;
  } else {
    U--;
    return continueParse(e, A) ? parseRelative(codePointAt(D, U)) : 0;
  }
};

const parseSpecialRelativeOrAuthority = A => {
  const e = U;
  if (47 === A && 47 === codePointAt(D, U + 1)) {
    ++U;
    return continueParse(e, A) ? parseSpecialAuthorityIgnoreSlashes(codePointAt(D, U)) : 0;
  } else {
    U--;
    return continueParse(e, A) ? parseRelative(codePointAt(D, U)) : 0;
  }
};

const parsePathOrAuthority = A => {
  const e = U;
  if (47 === A) {
    return continueParse(e, A) ? parseAuthority(codePointAt(D, U)) : 0;
  } else {
    U--;
    return continueParse(e, A) ? parsePath(codePointAt(D, U)) : 0;
  }
};

const parseRelative = A => {
  const e = U;
  E.scheme = C.scheme;
  if (47 === A) {
    return continueParse(e, A) ? parseRelativeSlash(codePointAt(D, U)) : 0;
  } else if (isSpecial(E.scheme) && 92 === A) {
    return continueParse(e, A) ? parseRelativeSlash(codePointAt(D, U)) : 0;
  } else {
    E.username = C.username;
    E.password = C.password;
    E.host = C.host;
    E.port = C.port;
    E.path = C.path.slice();
    E.query = C.query;
    if (63 === A) {
      E.query = "";
      return continueParse(e, A) ? parseQuery(codePointAt(D, U)) : 0;
    } else if (35 === A) {
      E.fragment = "";
      return continueParse(e, A) ? parseFragment(codePointAt(D, U)) : 0;
    } else if (null != A) {
      E.query = null;
      E.path.pop();
      U--;
      return continueParse(e, A) ? parsePath(codePointAt(D, U)) : 0;
    } else {
      return continueParse(e, A) ? parseRelative(codePointAt(D, U)) : 0;
    }
  }
};

const parseRelativeSlash = A => {
  const e = U;
  if (isSpecial(E.scheme) && (47 === A || 92 === A)) {
    return continueParse(e, A) ? parseSpecialAuthorityIgnoreSlashes(codePointAt(D, U)) : 0;
  } else if (47 === A) {
    return continueParse(e, A) ? parseAuthority(codePointAt(D, U)) : 0;
  } else {
    E.username = C.username;
    E.password = C.password;
    E.host = C.host;
    E.port = C.port;
    U--;
    return continueParse(e, A) ? parsePath(codePointAt(D, U)) : 0;
  }
};

const parseSpecialAuthoritySlashes = A => {
  const e = U;
  if (47 === A && 47 === codePointAt(D, U + 1)) {
    U++;
  } else {
    U--;
  }
  return continueParse(e, A) ? parseSpecialAuthorityIgnoreSlashes(codePointAt(D, U)) : 0;
};

const parseSpecialAuthorityIgnoreSlashes = A => {
  const e = U;
  if (47 !== A && 92 !== A) {
    U--;
    return continueParse(e, A) ? parseAuthority(codePointAt(D, U)) : 0;
  } else {
    return continueParse(e, A) ? parseSpecialAuthorityIgnoreSlashes(codePointAt(D, U)) : 0;
  }
};

const parseAuthority = A => {
  const e = U;
  if (null != A && 64 !== A && 35 !== A && 47 !== A && 63 !== A && (92 !== A || !isSpecial(E.scheme))) {
    let t = U + codePointSize(A);
    while (t < D.length) {
      const A = codePointAt(D, t);
      if (null == A || 64 === A || 35 === A || 47 === A || 63 === A || 92 === A && isSpecial(E.scheme)) {
        break;
      }
      t += codePointSize(A);
    }
    y += D.slice(U, t);
    U = t - 1;
    return continueParse(e, A) ? parseAuthority(codePointAt(D, U)) : 0;
  }
  if (64 === A) {
    if (b) {
      y = `%40${y}`;
    }
    b = !0;
    for (let A = 0; A < y.length; A++) {
      const e = y.codePointAt(A);
      if (58 === e && !I) {
        I = !0;
        continue;
      }
      const t = utf8PercentEncodeCodePoint(e, isUserinfoPercentEncode);
      if (I) {
        E.password += t;
      } else {
        E.username += t;
      }
      if (null != e && e > 65535) {
        A++;
      }
    }
    y = "";
    return continueParse(e, A) ? parseAuthority(codePointAt(D, U)) : 0;
  } else if (null == A || 35 === A || 47 === A || 63 === A || 92 === A && isSpecial(E.scheme)) {
    if (b && "" === y) {
      return 1;
    }
    U -= y.length + 1;
    y = "";
    return continueParse(e, A) ? parseHostname(codePointAt(D, U)) : 0;
  } else {
    y += codePointToString(A);
    return continueParse(e, A) ? parseAuthority(codePointAt(D, U)) : 0;
  }
};

const parseHostname = A => {
  const e = U;
  if (v && "file" === E.scheme) {
    U--;
    return continueParse(e, A) ? parseFileHost(codePointAt(D, U)) : 0;
  } else if (null != A && 58 !== A && 35 !== A && 47 !== A && 63 !== A && (92 !== A || !isSpecial(E.scheme))) {
    let t = U + codePointSize(A);
    if (91 === A) {
      L = !0;
    } else if (93 === A) {
      L = !1;
    }
    while (t < D.length) {
      const A = codePointAt(D, t);
      if (null == A || !L && 58 === A || 35 === A || 47 === A || 63 === A || 92 === A && isSpecial(E.scheme)) {
        break;
      }
      if (91 === A) {
        L = !0;
      } else if (93 === A) {
        L = !1;
      }
      t += codePointSize(A);
    }
    y += D.slice(U, t);
    U = t - 1;
    return continueParse(e, A) ? parseHostname(codePointAt(D, U)) : 0;
  } else if (58 === A && !L) {
    if ("" === y) {
      return 1;
    }
    if (4 === v) {
      return 1;
    }
    const t = parseHost(y, !isSpecial(E.scheme));
    if (null === t) {
      return 1;
    }
    E.host = serializeHost(t);
    y = "";
    return continueParse(e, A) ? parsePort(codePointAt(D, U)) : 0;
  } else if (null == A || 35 === A || 47 === A || 63 === A || 92 === A && isSpecial(E.scheme)) {
    U--;
    if (isSpecial(E.scheme) && "" === y) {
      return 1;
    } else if (v && "" === y && (includesCredentials(E) || null !== E.port)) {
      return 1;
    }
    const t = parseHost(y, !isSpecial(E.scheme));
    if (null === t) {
      return 1;
    }
    E.host = serializeHost(t);
    y = "";
    return v ? 0 : continueParse(e, A) ? parsePathStart(codePointAt(D, U)) : 0;
  } else {
    y += codePointToString(A);
    return continueParse(e, A) ? parseHostname(codePointAt(D, U)) : 0;
  }
};

const parsePort = A => {
  const e = U;
  if (null != A && A >= 48 && A <= 57) {
    let t = U + 1;
    while (t < D.length) {
      const A = D.charCodeAt(t);
      if (A < 48 || A > 57) {
        break;
      }
      t++;
    }
    y += D.slice(U, t);
    U = t - 1;
    return continueParse(e, A) ? parsePort(codePointAt(D, U)) : 0;
  } else if (v || null == A || 35 === A || 47 === A || 63 === A || 92 === A && isSpecial(E.scheme)) {
    if ("" !== y) {
      const A = parseInt(y, 10);
      if (A > 65535) {
        return 1;
      }
      E.port = A === defaultPort(E.scheme) ? null : A;
      y = "";
      if (v) {
        return 0;
      }
    }
    if (v) {
      return 1;
    } else {
      U--;
      return continueParse(e, A) ? parsePathStart(codePointAt(D, U)) : 0;
    }
  } else {
    return 1;
  }
};

function startsWithWindowsDriveLetter(A, e) {
  const t = A.length - e;
  if (t < 2) {
    return !1;
  }
  if (!isWindowsDriveLetterCodePoints(codePointAt(A, e), codePointAt(A, e + 1))) {
    return !1;
  } else if (2 === t) {
    return !0;
  } else {
    const t = codePointAt(A, e + 2);
    return 47 === t || 92 === t || 63 === t || 35 === t;
  }
}

const parseFile = A => {
  const e = U;
  E.scheme = "file";
  E.host = "";
  if (47 === A || 92 === A) {
    return continueParse(e, A) ? parseFileSlash(codePointAt(D, U)) : 0;
  } else if ("file" === C?.scheme) {
    E.host = C.host;
    E.path = C.path.slice();
    E.opaquePath = C.opaquePath;
    E.query = C.query;
    if (63 === A) {
      E.query = "";
      return continueParse(e, A) ? parseQuery(codePointAt(D, U)) : 0;
    } else if (35 === A) {
      E.fragment = "";
      return continueParse(e, A) ? parseFragment(codePointAt(D, U)) : 0;
    } else if (null != A) {
      E.query = null;
      if (!startsWithWindowsDriveLetter(D, U)) {
        shortenPath(E);
      } else {
        E.path = [];
      }
      U--;
      return continueParse(e, A) ? parsePath(codePointAt(D, U)) : 0;
    } else {
      return continueParse(e, A) ? parseFile(codePointAt(D, U)) : 0;
    }
  } else {
    U--;
    return continueParse(e, A) ? parsePath(codePointAt(D, U)) : 0;
  }
};

const parseFileSlash = A => {
  const e = U;
  if (47 === A || 92 === A) {
    return continueParse(e, A) ? parseFileHost(codePointAt(D, U)) : 0;
  } else {
    if (null !== C && "file" === C.scheme) {
      if (!startsWithWindowsDriveLetter(D, U) && function isNormalizedWindowsDriveLetterString(A) {
        if (2 === A.length) {
          const e = A.codePointAt(0);
          const t = A.codePointAt(1);
          return (e >= 65 && e <= 90 || e >= 97 && e <= 122) && 58 === t;
        } else {
          return !1;
        }
      }(C.path[0])) {
        E.path.push(C.path[0]);
      }
      E.host = C.host;
    }
    U--;
    return continueParse(e, A) ? parsePath(codePointAt(D, U)) : 0;
  }
};

const parseFileHost = A => {
  const e = U;
  if (null != A && 47 !== A && 92 !== A && 63 !== A && 35 !== A) {
    let t = U + codePointSize(A);
    while (t < D.length) {
      const A = codePointAt(D, t);
      if (null == A || 47 === A || 92 === A || 63 === A || 35 === A) {
        break;
      }
      t += codePointSize(A);
    }
    y += D.slice(U, t);
    U = t - 1;
    return continueParse(e, A) ? parseFileHost(codePointAt(D, U)) : 0;
  } else if (null == A || 47 === A || 92 === A || 63 === A || 35 === A) {
    U--;
    if (!v && isWindowsDriveLetterString(y)) {
      return continueParse(e, A) ? parsePath(codePointAt(D, U)) : 0;
    } else if ("" === y) {
      E.host = "";
      return v ? 0 : continueParse(e, A) ? parsePathStart(codePointAt(D, U)) : 0;
    } else {
      let t = parseHost(y, !isSpecial(E.scheme));
      if (null === t) {
        return 1;
      }
      if ("localhost" === t) {
        t = "";
      }
      E.host = serializeHost(t);
      y = "";
      return v ? 0 : continueParse(e, A) ? parsePathStart(codePointAt(D, U)) : 0;
    }
  }
  return 1;
};

const parsePathStart = A => {
  const e = U;
  if (isSpecial(E.scheme)) {
    if (92 !== A && 47 !== A) {
      U--;
    }
    return continueParse(e, A) ? parsePath(codePointAt(D, U)) : 0;
  } else if (!v && 63 === A) {
    E.query = "";
    return continueParse(e, A) ? parseQuery(codePointAt(D, U)) : 0;
  } else if (!v && 35 === A) {
    E.fragment = "";
    return continueParse(e, A) ? parseFragment(codePointAt(D, U)) : 0;
  } else if (null != A) {
    if (47 !== A) {
      U--;
    }
    return continueParse(e, A) ? parsePath(codePointAt(D, U)) : 0;
  } else if (v && null === E.host) {
    E.path.push("");
    return continueParse(e, A) ? parsePathStart(codePointAt(D, U)) : 0;
  } else {
    return continueParse(e, A) ? parsePathStart(codePointAt(D, U)) : 0;
  }
};

const parsePath = A => {
  const e = U;
  if (null != A && 47 !== A && (!isSpecial(E.scheme) || 92 !== A) && (v || 63 !== A && 35 !== A)) {
    let e = U + codePointSize(A);
    while (e < D.length) {
      const A = codePointAt(D, e);
      if (null == A || 47 === A || isSpecial(E.scheme) && 92 === A || !v && (63 === A || 35 === A)) {
        break;
      }
      e += codePointSize(A);
    }
    y += utf8PercentEncodeString(D.slice(U, e), isPathPercentEncode);
    U = e;
    A = codePointAt(D, e);
  }
  if (null == A || 47 === A || isSpecial(E.scheme) && 92 === A || !v && (63 === A || 35 === A)) {
    const t = isSpecial(E.scheme) && 92 === A;
    if (function isDoubleDot(A) {
      switch (A) {
       case "..":
       case "%2e.":
       case "%2E.":
       case ".%2e":
       case ".%2E":
       case "%2e%2e":
       case "%2E%2e":
       case "%2e%2E":
       case "%2E%2E":
        return !0;

       default:
        return !1;
      }
    }(y)) {
      shortenPath(E);
      if (47 !== A && !t) {
        E.path.push("");
      }
    } else if (isSingleDot(y) && 47 !== A && !t) {
      E.path.push("");
    } else if (!isSingleDot(y)) {
      if ("file" === E.scheme && 0 === E.path.length && isWindowsDriveLetterString(y)) {
        y = `${y[0]}:`;
      }
      E.path.push(y);
    }
    y = "";
    if (63 === A) {
      E.query = "";
      return continueParse(e, A) ? parseQuery(codePointAt(D, U)) : 0;
    } else if (35 === A) {
      E.fragment = "";
      return continueParse(e, A) ? parseFragment(codePointAt(D, U)) : 0;
    } else {
      return continueParse(e, A) ? parsePath(codePointAt(D, U)) : 0;
    }
  } else {
    y += utf8PercentEncodeCodePoint(A, isPathPercentEncode);
    return continueParse(e, A) ? parsePath(codePointAt(D, U)) : 0;
  }
};

const parseOpaquePath = A => {
  const e = U;
  if (63 === A) {
    E.query = "";
    return continueParse(e, A) ? parseQuery(codePointAt(D, U)) : 0;
  } else if (35 === A) {
    E.fragment = "";
    return continueParse(e, A) ? parseFragment(codePointAt(D, U)) : 0;
  } else {
    if (null != A) {
      let t = U + codePointSize(A);
      while (t < D.length) {
        const A = codePointAt(D, t);
        if (63 === A || 35 === A) {
          break;
        }
        t += codePointSize(A);
      }
      const n = D.slice(U, t);
      if (t < D.length && 32 === n.charCodeAt(n.length - 1)) {
        E.path[0] += utf8PercentEncodeString(n.slice(0, -1), isC0ControlPercentEncode) + "%20";
      } else {
        E.path[0] += utf8PercentEncodeString(n, isC0ControlPercentEncode);
      }
      U = t;
      if (63 === (A = codePointAt(D, t))) {
        E.query = "";
        return continueParse(e, A) ? parseQuery(codePointAt(D, U)) : 0;
      } else if (35 === A) {
        E.fragment = "";
        return continueParse(e, A) ? parseFragment(codePointAt(D, U)) : 0;
      }
    }
    return continueParse(e, A) ? parseOpaquePath(codePointAt(D, U)) : 0;
  }
};

const parseQuery = A => {
  const e = U;
  let t = U;
  if (null != A) {
    if (!v) {
      const A = D.indexOf("#", U);
      t = -1 === A ? D.length : A;
    } else {
      t = D.length;
    }
    const A = isSpecial(E.scheme) ? isSpecialQueryPercentEncode : isQueryPercentEncode;
    E.query += utf8PercentEncodeString(D.slice(U, t), A);
  }
  U = t;
  if (35 === codePointAt(D, t) && !v) {
    E.fragment = "";
    return continueParse(e, A) ? parseFragment(codePointAt(D, U)) : 0;
  }
  return continueParse(e, A) ? parseQuery(codePointAt(D, U)) : 0;
};

const parseFragment = A => {
  const e = U;
  if (null != A) {
    E.fragment += utf8PercentEncodeString(D.slice(U), isFragmentPercentEncode);
    U = D.length;
  }
  return continueParse(e, A) ? parseFragment(codePointAt(D, U)) : 0;
};

function serializePath(A) {
  if (A.opaquePath) {
    return A.path[0];
  } else {
    let e = "";
    for (const t of A.path) {
      e += `/${t}`;
    }
    return e;
  }
}

function serializeURLOrigin(A) {
  switch (A.scheme) {
   case "blob":
    {
      const e = parseURL(serializePath(A), null, null, 0);
      if (null === e) {
        return "null";
      } else if ("http" !== e.scheme && "https" !== e.scheme) {
        return "null";
      } else {
        return serializeURLOrigin(e);
      }
    }

   case "ftp":
   case "http":
   case "https":
   case "ws":
   case "wss":
    return function serializeOrigin(A) {
      let e = `${A.scheme}://`;
      e += A.host;
      if (null !== A.port) {
        e += `:${A.port}`;
      }
      return e;
    }(A);

   default:
    return "null";
  }
}

const R = Symbol("URLImpl");

class URL {
  constructor(A, e) {
    if (void 0 === A && void 0 === e) {
      throw new TypeError('The "url" argument must be specified.');
    }
    A = toUSVString(A);
    if (null != e) {
      e = toUSVString(e);
    }
    let t = null;
    if (null != e) {
      t = parseURL(e, null, null, 0);
      if (null == t) {
        throw new TypeError(`Invalid base URL: ${e}`);
      }
    }
    const n = parseURL(A, null, t, 0);
    if (null == n) {
      throw new TypeError(`Invalid URL: ${A}`);
    }
    this[R] = {
      url: n,
      query: null
    };
  }
  static createObjectURL(A) {
    throw new TypeError("URL.createObjetURL is unsupported");
  }
  static revokeObjectURL(A) {}
  static parse(A, e) {
    A = toUSVString(A);
    if (void 0 !== e) {
      e = toUSVString(e);
    }
    try {
      return new URL(A, e);
    } catch {
      return null;
    }
  }
  static canParse(A, e) {
    A = toUSVString(A);
    if (void 0 !== e) {
      e = toUSVString(e);
    }
    let t = null;
    if (null != e) {
      t = parseURL(e, null, null, 0);
      if (null == t) {
        return !1;
      }
    }
    return null != parseURL(A, null, t, 0);
  }
  get href() {
    return function serializeURL(A) {
      let e = `${A.scheme}:`;
      if (null !== A.host) {
        e += "//";
        if ("" !== A.username || "" !== A.password) {
          e += A.username;
          if ("" !== A.password) {
            e += `:${A.password}`;
          }
          e += "@";
        }
        e += A.host;
        if (null !== A.port) {
          e += `:${A.port}`;
        }
      }
      if (null === A.host && !A.opaquePath && A.path.length > 1 && "" === A.path[0]) {
        e += "/.";
      }
      e += serializePath(A);
      if (null !== A.query) {
        e += `?${A.query}`;
      }
      if (null !== A.fragment) {
        e += `#${A.fragment}`;
      }
      return e;
    }(this[R].url);
  }
  set href(A) {
    const e = parseURL(A = toUSVString(A), null, null, 0);
    if (null == e) {
      throw new TypeError(`Invalid URL: ${A}`);
    }
    this[R].url = e;
    if (this[R].query) {
      updateSearchParams(this[R].query, e.query);
    }
  }
  get origin() {
    return serializeURLOrigin(this[R].url);
  }
  get protocol() {
    return `${this[R].url.scheme}:`;
  }
  set protocol(A) {
    parseURL(`${A = toUSVString(A)}:`, this[R].url, null, 2);
  }
  get username() {
    return this[R].url.username;
  }
  set username(A) {
    A = toUSVString(A);
    if (!cannotHaveAUsernamePasswordPort(this[R].url)) {
      !function setURLUsername(A, e) {
        A.username = utf8PercentEncodeString(e, isUserinfoPercentEncode);
      }(this[R].url, A);
    }
  }
  get password() {
    return this[R].url.password;
  }
  set password(A) {
    A = toUSVString(A);
    if (!cannotHaveAUsernamePasswordPort(this[R].url)) {
      !function setURLPassword(A, e) {
        A.password = utf8PercentEncodeString(e, isUserinfoPercentEncode);
      }(this[R].url, A);
    }
  }
  get host() {
    const {url: A} = this[R];
    if (null == A.host) {
      return "";
    } else if (null == A.port) {
      return A.host;
    } else {
      return `${A.host}:${A.port}`;
    }
  }
  set host(A) {
    A = toUSVString(A);
    if (!this[R].url.opaquePath) {
      parseURL(A, this[R].url, null, 3);
    }
  }
  get hostname() {
    const {url: A} = this[R];
    return null != A.host ? A.host : "";
  }
  set hostname(A) {
    A = toUSVString(A);
    if (!this[R].url.opaquePath) {
      parseURL(A, this[R].url, null, 4);
    }
  }
  get port() {
    const {url: A} = this[R];
    return null != A.port ? `${A.port}` : "";
  }
  set port(A) {
    A = toUSVString(A);
    const {url: e} = this[R];
    if (!cannotHaveAUsernamePasswordPort(e)) {
      if (!A) {
        e.port = null;
      } else {
        parseURL(A, e, null, 5);
      }
    }
  }
  get pathname() {
    return serializePath(this[R].url);
  }
  set pathname(A) {
    A = toUSVString(A);
    const {url: e} = this[R];
    if (!e.opaquePath) {
      e.path = [];
      parseURL(A, e, null, 6);
    }
  }
  get search() {
    const {url: A} = this[R];
    return A.query ? `?${A.query}` : "";
  }
  set search(A) {
    A = toUSVString(A);
    const {url: e, query: t} = this[R];
    if (!A) {
      e.query = null;
      if (t) {
        updateSearchParams(t, null);
      }
    } else {
      const n = "?" === A[0] ? A.substring(1) : A;
      e.query = "";
      parseURL(n, e, null, 7);
      if (t) {
        updateSearchParams(t, e.query);
      }
    }
  }
  get searchParams() {
    const A = this[R];
    let e = A.query;
    if (null == e) {
      e = A.query = function createSearchParams(A, e) {
        const t = new URLSearchParams;
        t[B].url = A;
        t[B].serialized = null == e;
        if (e) {
          t[B].list = parseUrlencoded(e);
        }
        return t;
      }(this, A.url.query);
    }
    return e;
  }
  get hash() {
    const {url: A} = this[R];
    return A.fragment ? `#${A.fragment}` : "";
  }
  set hash(A) {
    A = toUSVString(A);
    const {url: e} = this[R];
    if (!A) {
      e.fragment = null;
    } else {
      const t = "#" === A[0] ? A.substring(1) : A;
      e.fragment = "";
      parseURL(t, e, null, 8);
    }
  }
  toJSON() {
    return this.href;
  }
  toString() {
    return this.href;
  }
}

Object.defineProperty(URL.prototype, Symbol.toStringTag, {
  value: "URL",
  configurable: !0
});

const B = Symbol("URLSearchParamsImpl");

const q = Symbol.dispose || Symbol.for("dispose");

function updateSearchParams(A, e) {
  if (e) {
    A[B].list = parseUrlencoded(e);
  } else {
    A[B].list.length = 0;
  }
  A[B].serialized = null == e;
}

function updateInternalURL(A) {
  if (A.url) {
    const e = serializeUrlencoded(A.list);
    !function updateURLQuery(A, e) {
      A[R].url.query = e;
    }(A.url, e || null);
    A.serialized = !0;
  }
}

const z = "undefined" != typeof Iterator ? Iterator : Object;

class URLSearchParamsIteratorImpl extends z {
  constructor(A, e) {
    super();
    this[B] = {
      ptr: A,
      map: e,
      index: 0
    };
  }
  next() {
    const A = this[B];
    return A.index < A.ptr.list.length ? {
      value: A.map(A.ptr.list[A.index++]),
      done: !1
    } : {
      value: void 0,
      done: !0
    };
  }
  [Symbol.iterator]() {
    return this;
  }
  [q]() {}
}

class URLSearchParams {
  constructor(A) {
    const e = this[B] = {
      list: [],
      url: null,
      serialized: !0
    };
    let t;
    if (Array.isArray(A)) {
      for (let t = 0; t < A.length; t++) {
        e.list.push(toQueryPair(A[t]));
      }
    } else if (null != (t = toIterator(A))) {
      let A;
      while (!(A = toObject(t.next())).done) {
        e.list.push(toQueryPair(A.value));
      }
    } else if (("object" == typeof A || "function" == typeof A) && null != A) {
      const t = Object.keys(A);
      for (let n = 0; n < t.length; n++) {
        const r = t[n];
        const o = toWellFormed(r);
        const i = toUSVString(A[r]);
        const s = e.list.find(A => A[0] === o);
        if (s) {
          s[1] = i;
        } else {
          e.list.push([ o, i ]);
        }
      }
    } else if (void 0 !== A) {
      let t = toUSVString(A);
      t = "?" === t[0] ? t.substring(1) : t;
      e.list = parseUrlencoded(t);
    }
  }
  get size() {
    return this[B].list.length;
  }
  append(A, e) {
    A = toUSVString(A);
    e = toUSVString(e);
    this[B].list.push([ A, e ]);
    const t = this[B];
    if (t.url && t.serialized) {
      !function appendURLQuery(A, e) {
        const t = A[R].url;
        t.query = t.query ? `${t.query}&${e}` : e;
      }(t.url, serializeUrlencoded([ [ A, e ] ]));
    } else {
      updateInternalURL(t);
    }
  }
  delete(A, e) {
    A = toUSVString(A);
    e = null != e ? toUSVString(e) : void 0;
    const {list: t} = this[B];
    let n = 0;
    while (n < t.length) {
      if (t[n][0] === A && (null == e || t[n][1] === e)) {
        t.splice(n, 1);
      } else {
        n++;
      }
    }
    updateInternalURL(this[B]);
  }
  get(A) {
    A = toUSVString(A);
    const {list: e} = this[B];
    for (let t = 0; t < e.length; t++) {
      if (e[t][0] === A) {
        return e[t][1];
      }
    }
    return null;
  }
  getAll(A) {
    A = toUSVString(A);
    const e = [];
    const {list: t} = this[B];
    for (let n = 0; n < t.length; n++) {
      if (t[n][0] === A) {
        e.push(t[n][1]);
      }
    }
    return e;
  }
  has(A, e) {
    A = toUSVString(A);
    e = null != e ? toUSVString(e) : void 0;
    const {list: t} = this[B];
    for (let n = 0; n < t.length; n++) {
      if (t[n][0] === A && (null == e || t[n][1] === e)) {
        return !0;
      }
    }
    return !1;
  }
  set(A, e) {
    A = toUSVString(A);
    e = toUSVString(e);
    const {list: t} = this[B];
    let n = !1;
    let r = !1;
    let o = 0;
    while (o < t.length) {
      if (t[o][0] === A) {
        if (n) {
          t.splice(o, 1);
          r = !0;
        } else {
          n = !0;
          if (t[o][1] !== e) {
            t[o][1] = e;
            r = !0;
          }
          o++;
        }
      } else {
        o++;
      }
    }
    if (!n) {
      t.push([ A, e ]);
      r = !0;
    }
    if (r) {
      updateInternalURL(this[B]);
    }
  }
  sort() {
    this[B].list.sort((A, e) => {
      if (A[0] < e[0]) {
        return -1;
      } else if (A[0] > e[0]) {
        return 1;
      } else {
        return 0;
      }
    });
    updateInternalURL(this[B]);
  }
  forEach(A, e) {
    if ("function" != typeof A) {
      throw new TypeError('The "callback" argument must be of type function');
    }
    const {list: t} = this[B];
    for (let n = 0; n < t.length; n++) {
      A.call(e, t[n][1], t[n][0], this);
    }
  }
  entries() {
    return new URLSearchParamsIteratorImpl(this[B], A => A);
  }
  keys() {
    return new URLSearchParamsIteratorImpl(this[B], A => A[0]);
  }
  values() {
    return new URLSearchParamsIteratorImpl(this[B], A => A[1]);
  }
  toString() {
    return serializeUrlencoded(this[B].list);
  }
  [Symbol.iterator]() {
    return this.entries();
  }
}

Object.defineProperty(URLSearchParams.prototype, Symbol.toStringTag, {
  value: "URLSearchParams",
  configurable: !0
});

export { URL, URLSearchParams };
