/** Use cases: what the command line and the server do, without argv, printing or HTTP. */
export { type Answer, answerQuestion, isUnanswerable, pendingQuestions, type Question } from './answer.ts';
export { type BindRequest, type BindResult, bindTools, readEdits } from './bind.ts';
export { disclosureOf, grantRefusal, grantScopes, revokeScopes, type Told } from './grants.ts';
export { type PushRequest, type PushResult, pushManifest } from './push.ts';
