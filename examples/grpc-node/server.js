// A shop over gRPC, with reflection and health checks. It listens on $PORT and stops
// on SIGTERM.
'use strict';

const path = require('node:path');
const grpc = require('@grpc/grpc-js');
const loader = require('@grpc/proto-loader');
const { ReflectionService } = require('@grpc/reflection');
const { HealthImplementation } = require('grpc-health-check');

const items = new Map([
  ['a1', { sku: 'a1', name: 'Notebook', cents: 450 }],
  ['b2', { sku: 'b2', name: 'Pencil', cents: 120 }],
  ['c3', { sku: 'c3', name: 'Ruler', cents: 300 }],
  ['d4', { sku: 'd4', name: 'Eraser', cents: 90 }],
]);

const definition = loader.loadSync(path.join(__dirname, 'shop.proto'), { keepCase: true });
const { shop } = grpc.loadPackageDefinition(definition);

const server = new grpc.Server();
server.addService(shop.Shop.service, {
  ListItems: (call, done) => done(null, { items: [...items.values()] }),
  GetItem: (call, done) => {
    const item = items.get(call.request.sku);
    if (!item) return done({ code: grpc.status.NOT_FOUND, details: `there is no item ${call.request.sku}` });
    return done(null, item);
  },
  AddItem: (call, done) => {
    const item = call.request;
    if (!item.sku) return done({ code: grpc.status.INVALID_ARGUMENT, details: 'sku is missing' });
    items.set(item.sku, item);
    return done(null, item);
  },
});
new ReflectionService(definition).addToServer(server);
const health = new HealthImplementation({ '': 'SERVING' });
health.addToServer(server);

const address = `${process.env.HOST || '127.0.0.1'}:${process.env.PORT || 9000}`;
server.bindAsync(address, grpc.ServerCredentials.createInsecure(), (error) => {
  if (error) {
    console.error(`listen at ${address}: ${error.message}`);
    process.exit(1);
  }
});
process.on('SIGTERM', () => server.tryShutdown(() => process.exit(0)));
