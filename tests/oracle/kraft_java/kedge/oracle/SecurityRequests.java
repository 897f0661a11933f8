package kedge.oracle;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.nio.charset.StandardCharsets;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import org.apache.kafka.common.acl.AccessControlEntry;
import org.apache.kafka.common.acl.AccessControlEntryFilter;
import org.apache.kafka.common.acl.AclBinding;
import org.apache.kafka.common.acl.AclBindingFilter;
import org.apache.kafka.common.acl.AclOperation;
import org.apache.kafka.common.acl.AclPermissionType;
import org.apache.kafka.common.message.AlterUserScramCredentialsRequestData;
import org.apache.kafka.common.message.AlterUserScramCredentialsRequestData.ScramCredentialDeletion;
import org.apache.kafka.common.message.AlterUserScramCredentialsRequestData.ScramCredentialUpsertion;
import org.apache.kafka.common.message.AlterUserScramCredentialsResponseData.AlterUserScramCredentialsResult;
import org.apache.kafka.common.protocol.ApiKeys;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.resource.PatternType;
import org.apache.kafka.common.resource.ResourcePattern;
import org.apache.kafka.common.resource.ResourcePatternFilter;
import org.apache.kafka.common.resource.ResourceType;
import org.apache.kafka.server.authorizer.AclDeleteResult;
import org.apache.kafka.server.authorizer.AclDeleteResult.AclBindingDeleteResult;

/** ACLs and the credentials of users. */
final class SecurityRequests {
    /** Every credential has these: the controller stores them without a look at them. */
    private static final byte[] SALT = "salt".getBytes(StandardCharsets.US_ASCII);
    private static final byte[] SALTED_PASSWORD =
        "0123456789abcdef".repeat(2).getBytes(StandardCharsets.US_ASCII);

    private final Cluster cluster;

    SecurityRequests(Cluster cluster) {
        this.cluster = cluster;
    }

    void addTo(Map<String, Scenario.Action> actions) {
        actions.put("createAcls", this::createAcls);
        actions.put("deleteAcls", this::deleteAcls);
        actions.put("alterScram", this::alterScram);
    }

    // ---- ACLs --------------------------------------------------------------------------------

    private Reply<?> createAcls(ObjectNode step) {
        List<AclBinding> acls = Fields.each(step.required("acls"), SecurityRequests::binding);
        return new Reply<>(
            cluster.controller.createAcls(cluster.asking(ApiKeys.CREATE_ACLS), acls),
            answer -> Fields.array(answer.stream()
                .map(one -> one.exception().map(Fields::outcome)
                    .orElseGet(() -> Fields.outcome(Errors.NONE.code(), null)))
                .toList()));
    }

    private static AclBinding binding(JsonNode acl) {
        return new AclBinding(
            new ResourcePattern(
                ResourceType.fromString(acl.path("resource").asText("TOPIC")),
                acl.path("name").asText("a"),
                PatternType.fromString(acl.path("pattern").asText("LITERAL"))),
            new AccessControlEntry(
                acl.path("principal").asText("User:a"),
                acl.path("host").asText("*"),
                AclOperation.fromString(acl.path("operation").asText("READ")),
                AclPermissionType.fromString(acl.path("permission").asText("ALLOW"))));
    }

    private Reply<?> deleteAcls(ObjectNode step) {
        List<AclBindingFilter> filters =
            Fields.each(step.required("filters"), SecurityRequests::filter);
        return new Reply<>(
            cluster.controller.deleteAcls(cluster.asking(ApiKeys.DELETE_ACLS), filters),
            answer -> Fields.array(answer.stream().map(SecurityRequests::show).toList()));
    }

    /** What a filter leaves out may be anything. */
    private static AclBindingFilter filter(JsonNode given) {
        return new AclBindingFilter(
            new ResourcePatternFilter(
                ResourceType.fromString(given.path("resource").asText("ANY")),
                Fields.textOrNull(given, "name"),
                PatternType.fromString(given.path("pattern").asText("ANY"))),
            new AccessControlEntryFilter(
                Fields.textOrNull(given, "principal"),
                null,
                AclOperation.fromString(given.path("operation").asText("ANY")),
                AclPermissionType.fromString(given.path("permission").asText("ANY"))));
    }

    private static ObjectNode show(AclDeleteResult result) {
        Errors error = result.exception().map(Errors::forException).orElse(Errors.NONE);
        ObjectNode shown = Fields.object().put("error", error.name());
        var deleted = shown.putArray("deleted");
        result.aclBindingDeleteResults().stream()
            .map(AclBindingDeleteResult::aclBinding)
            .map(SecurityRequests::inOneLine)
            .sorted()
            .forEach(deleted::add);
        return shown;
    }

    private static String inOneLine(AclBinding acl) {
        ResourcePattern about = acl.pattern();
        AccessControlEntry rule = acl.entry();
        return String.join(":",
            about.resourceType().name(), about.patternType().name(), about.name(),
            rule.principal(), rule.operation().name(), rule.permissionType().name());
    }

    // ---- credentials -------------------------------------------------------------------------

    private Reply<?> alterScram(ObjectNode step) {
        AlterUserScramCredentialsRequestData request = new AlterUserScramCredentialsRequestData()
            .setUpsertions(Fields.each(step.path("upsert"), given ->
                new ScramCredentialUpsertion()
                    .setName(given.required(0).asText())
                    .setMechanism((byte) given.required(1).asInt())
                    .setIterations(given.required(2).asInt())
                    .setSalt(SALT)
                    .setSaltedPassword(SALTED_PASSWORD)))
            .setDeletions(Fields.each(step.path("delete"), given ->
                new ScramCredentialDeletion()
                    .setName(given.required(0).asText())
                    .setMechanism((byte) given.required(1).asInt())));
        return new Reply<>(
            cluster.controller.alterUserScramCredentials(
                cluster.asking(ApiKeys.ALTER_USER_SCRAM_CREDENTIALS), request),
            answer -> Fields.array(answer.results().stream()
                .sorted(Comparator.comparing(AlterUserScramCredentialsResult::user))
                .map(result -> Fields.outcome(result.errorCode(), result.errorMessage())
                    .put("user", result.user()))
                .toList()));
    }
}
