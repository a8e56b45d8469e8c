// A push service and one browser behind it: it checks who sends (VAPID) and decrypts what was sent, as a browser does.
import { createDecipheriv, createECDH, createPublicKey, hkdfSync, randomBytes, verify } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:http";

const text = (b64) => Buffer.from(b64, "base64url");
const hkdf = (secret, salt, info, n) => Buffer.from(hkdfSync("sha256", secret, salt, info, n));

export class PushService {
  #got = [];
  #waiting = [];
  #ecdh = createECDH("prime256v1");
  #secret = randomBytes(16);

  static async start() {
    const service = new PushService();
    service.#ecdh.generateKeys();
    service.server = createServer((request, response) => {
      const parts = [];
      request.on("data", (part) => parts.push(part));
      request.on("end", () => {
        try {
          service.#take(request.headers, Buffer.concat(parts));
          response.writeHead(201).end();
        } catch (error) {
          response.writeHead(403).end(String(error));
        }
      });
    }).listen(0, "127.0.0.1");
    await once(service.server, "listening");
    service.host = `127.0.0.1:${service.server.address().port}`;
    return service;
  }

  // subscription is what PushManager.subscribe gives.
  get subscription() {
    return { endpoint: `http://${this.host}/push/phone`, keys: { p256dh: this.#ecdh.getPublicKey().toString("base64url"), auth: this.#secret.toString("base64url") } };
  }

  // next is the next message.
  next() {
    return this.#got.length > 0 ? Promise.resolve(this.#got.shift()) : new Promise((resolve) => this.#waiting.push(resolve));
  }

  #take(headers, body) {
    const [, token, key] = /^vapid t=([^,]+), ?k=(.+)$/.exec(headers.authorization) ?? [];
    if (key !== this.key) throw new Error("this is not the server that the browser subscribed to");
    const [head, claims, signature] = token.split(".");
    const point = text(key);
    const publicKey = createPublicKey({ format: "jwk", key: { kty: "EC", crv: "P-256", x: point.subarray(1, 33).toString("base64url"), y: point.subarray(33).toString("base64url") } });
    if (!verify("sha256", Buffer.from(`${head}.${claims}`), { key: publicKey, dsaEncoding: "ieee-p1363" }, text(signature))) throw new Error("the signature is wrong");
    const { aud, exp } = JSON.parse(text(claims));
    if (aud !== `http://${this.host}` || exp * 1000 < Date.now()) throw new Error("it is for another service, or late");
    const [salt, sender, sealed] = [body.subarray(0, 16), body.subarray(21, 86), body.subarray(86)];
    const info = Buffer.concat([Buffer.from("WebPush: info\0"), this.#ecdh.getPublicKey(), sender]);
    const ikm = hkdf(this.#ecdh.computeSecret(sender), this.#secret, info, 32);
    const open = createDecipheriv("aes-128-gcm", hkdf(ikm, salt, "Content-Encoding: aes128gcm\0", 16), hkdf(ikm, salt, "Content-Encoding: nonce\0", 12));
    open.setAuthTag(sealed.subarray(-16));
    const plain = Buffer.concat([open.update(sealed.subarray(0, -16)), open.final()]);
    const message = { ...JSON.parse(plain.subarray(0, plain.lastIndexOf(2))), text: plain.subarray(0, plain.lastIndexOf(2)).toString() };
    const waiting = this.#waiting.shift();
    if (waiting) waiting(message);
    else this.#got.push(message);
  }

  close() {
    this.server.close();
  }
}
